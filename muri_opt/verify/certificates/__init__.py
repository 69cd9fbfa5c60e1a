"""Proofs that stand alone: of matchings, and of the optimum over time of elastic jobs."""

from typing import TYPE_CHECKING

from muri_opt.rounds.lazy import names_on_demand

if TYPE_CHECKING:
    from muri_opt.verify.certificates.elastic_optimum import (
        ElasticCase as ElasticCase,
        check_elastic_optimum as check_elastic_optimum,
        total_completion as total_completion,
    )
    from muri_opt.verify.certificates.matching import (
        matching_breaches as matching_breaches,
        type_matching_breaches as type_matching_breaches,
    )

__all__, __getattr__, __dir__ = names_on_demand(
    __name__,
    {
        "muri_opt.verify.certificates.elastic_optimum": ("ElasticCase", "check_elastic_optimum", "total_completion"),
        "muri_opt.verify.certificates.matching": ("matching_breaches", "type_matching_breaches"),
    },
)
