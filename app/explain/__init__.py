"""A formula in words: its terms, equivalent forms and sensitivities."""
