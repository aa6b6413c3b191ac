"""The released Relation Networks from pixels (Santoro et al. 2017, trained by N. Messina)."""
