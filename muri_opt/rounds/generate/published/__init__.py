"""Random rounds after figures that public traces and papers state: sizes, times and models as there, drawn anew."""
