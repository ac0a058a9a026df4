"""From a plan to a priced strategy: analysis, measurements, cells, shares of the budget, and the preview.

In order: ``analysis`` checks a plan against the schemas, ``cells`` lists its groups (``keys`` looks them up in a
column), ``measurements`` plans the integers that the aggregates need, ``strategy`` shares the budget and sets the
noise, and ``preview`` shows cost and errors. ``calibration`` finds the smallest cost for a wanted error; ``cut_off``
measures what contribution limits remove.
"""
