"""What the tables of `benchmarks.kernels.surrogate_simulation` show, in words, for benchmarks/kernels/KERNELS.md."""

INTRODUCTION = """\
The fake world without pixels (`benchmarks.kernels.stand_in_world`), at equal cost: 400 renders at the deciding look
for 8 chains together unless a table says otherwise, cheap renders counted at 1 / ratio. Each cell: distinct hits ±
standard error / chains that hit / families of hits (scenes that share three of five objects). Rate of the level
set 1.3e-3, block moves."""
STEPS = """\
Many inner steps find other families, few find more variations of one. At a cost ratio of 3 there are fewer
hits than without a cheap look; at 10 take 4 to 8 steps; at 20 and more 16 steps find half again as many hits
and some six times the families, if the correlation is .8 or more. At .5 the hits are no more than without.
With `--runs 200` (errors 1 to 2): none 35 / 2.1 / 2.2; ratio 20, 16 steps: .95 64 / 4.5 / 14.8, .8 55 / 4.7 / 13.0,
.5 33 / 3.9 / 7.3. The defaults are 16 steps from a ratio of 20 on, 8 from 8 on, else 4."""
CHAINS = """\
A bank of 1,000, correlation .8, ratio 34 (`sketch` for `reference`). For 100 to 400 renders four chains find more hits
than eight, and as many families; eight and sixteen hit in more chains, each of which has less to spend. A search has
four by default."""
FLATTENING = """\
Correlation .8, ratio 20, 16 inner steps. The power matters, the floor hardly, once it lies below the set's
mass (e^-6.6). Power .03 (the default) makes the least weight, at confidence 0, e^-6."""
GATE = """\
The gate (`trex.inference.statistics.gate`) wants .7 overall and .3 in the top fifth. Hits break even at
about .5 and .35; .7 leaves a margin. The top fifth of 48 scenes is a rough figure: a bound of .3 turns down
one good look (.8) in seven together with the bound on all, and a look that is blind there four times in
five."""
IDEAS = """\
Correlation .8, ratio 20, 16 inner steps; the bank's cheap scores are given, 40 of its scenes are scored at
the deciding look for the starts. **Transplants**: three in ten inner steps redraw an object from a blurred
mixture of the objects of the bank's 40 best scenes, with the exact ratio. Some 5 to 20% more hits,
families within the error: no clear gain in a world that suits it (each object counts by itself).
**Exchange**: one inner step in twenty exchanges the scene with a bank member, drawn by its cheap weight;
exact on pairs of scene and bank. More chains hit, because they all go to the same few bank members:
families are fewer. It also needs the bank's state to resume. Neither is in the product. A larger bank gains
more than either."""
