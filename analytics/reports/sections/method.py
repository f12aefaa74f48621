"""How the numbers came about, and how to say that one is wrong."""

from analytics.reports.model import Cell, Context, Section
from analytics.reports.registry import section
from analytics.wording import format_time


@section(100)
def method(context: Context) -> Section:
    """Definitions in a few sentences, then whom to ask."""
    paragraphs: list[Cell] = [
        "Idle means that a GPU was held and its utilization was below 1 %.",
        "Hours without a reading are not known and count for nobody.",
        "Every figure is the one that the pages and the API show for the same period.",
        f"Data to {format_time(context.data_to_ms, context.site.zone)} ({context.site.zone}).",
        context.link("How each number is computed, and the thresholds in force.", "/about", whole=True),
    ]
    told = context.site.contact or "the people who run this cluster"
    paragraphs.append(f"Is a number wrong, or is there a good reason for it? Please tell {told}.")
    if context.site.docs_url:
        paragraphs.append(f"How to use GPUs here: {context.site.docs_url}")
    return Section(title="How these numbers came about", paragraphs=tuple(paragraphs))
