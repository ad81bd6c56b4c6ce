"""A formula explained: its terms, equivalent forms and sensitivities."""
