"""A bar chart as an object inside an .ods file; it is drawn from the cells of its sheet."""

from xml.sax.saxutils import escape, quoteattr

from trainlaw.app.sheets.ods_formula import cell_range
from trainlaw.app.sheets.ods_styles import NAMESPACES
from trainlaw.app.sheets.plan import Chart, SheetPlan, quoted
from xlsxwriter.utility import xl_range_abs

_BAR = '<style:graphic-properties draw:fill="solid" draw:fill-color="#2F75B5" draw:stroke="none"/>'
_PIXEL_CM = 2.54 / 96


def chart_object(sheet: SheetPlan, chart: Chart) -> str:
    """Return the content of the chart's document."""
    labels, values = (
        quoteattr(cell_range(f"{quoted(sheet.name)}!{xl_range_abs(chart.first, column, chart.last, column)}"))
        for column in (chart.labels, chart.values)
    )
    width, height = (f"{pixels * _PIXEL_CM:.2f}cm" for pixels in chart.size)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {NAMESPACES} office:version="1.3">'
        f"{_styles()}<office:body><office:chart>"
        f'<chart:chart chart:class="chart:bar" svg:width="{width}" svg:height="{height}">'
        f"<chart:title><text:p>{escape(chart.title)}</text:p></chart:title>"
        '<chart:plot-area chart:style-name="plot" chart:data-source-has-labels="column">'
        '<chart:axis chart:dimension="x" chart:name="primary-x" chart:style-name="names">'
        f"<chart:categories table:cell-range-address={labels}/></chart:axis>"
        '<chart:axis chart:dimension="y" chart:name="primary-y" chart:style-name="values">'
        f"<chart:title><text:p>{escape(chart.unit)}</text:p></chart:title>"
        '<chart:grid chart:class="major"/></chart:axis>'
        f'<chart:series chart:style-name="bars" chart:values-cell-range-address={values} '
        'chart:class="chart:bar"/>'
        '<chart:wall chart:style-name="wall"/></chart:plot-area></chart:chart></office:chart></office:body>'
        "</office:document-content>"
    )


def _styles() -> str:
    def style(name: str, chart: str, more: str = "") -> str:
        return (
            f'<style:style style:name="{name}" style:family="chart">'
            f"<style:chart-properties {chart}/>{more}</style:style>"
        )

    small = '<style:text-properties fo:font-size="8pt"/>'
    return (
        "<office:automatic-styles>"
        + style("plot", 'chart:vertical="true" chart:include-hidden-cells="false"')
        + style(
            "wall",
            'chart:solid-type="cuboid"',
            '<style:graphic-properties draw:fill="none" draw:stroke="none"/>',
        )
        + style("names", 'chart:display-label="true" chart:reverse-direction="true"', small)
        + style("values", 'chart:display-label="true" chart:minimum="0"', small)
        + style(
            "bars",
            'chart:gap-width="40"',
            _BAR,
        )
        + "</office:automatic-styles>"
    )
