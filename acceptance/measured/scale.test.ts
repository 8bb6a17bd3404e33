// A small slice of the experiments of `npm run scale`: each produces its figures, and meets the goals
// that depend neither on large numbers nor on the speed of the machine. The fit is tested with points that are known.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { tell } from "../figures.ts";
import { experiments, runExperiment } from "../scale/experiments.ts";
import { jsonLine } from "../scale/figure.ts";
import { fitLine, predictionError, slopeDifference, type Point } from "../scale/fit.ts";

const hourly = (transactions: number) => ({
  transactions,
  walBytes: 0,
  nodeSeconds: 0,
  postgresSeconds: 0,
  natsSeconds: 0,
});
/** 1,000 transactions an hour without hosts, and `each` for every host. */
const grown = (counts: number[], each: (count: number) => number): Point[] =>
  counts.map((count) => ({ count, hourly: hourly(1_000 + each(count) * count) }));
const counts = [250, 500, 1_000, 2_000];

test("a line is fitted through its points", () => {
  assert.deepEqual(
    fitLine([
      [1, 5],
      [2, 7],
      [4, 11],
    ]),
    { fixed: 3, each: 2 },
  );
});

test("a cost that grows evenly has the same slope in both halves, and predicts its largest point", () => {
  const points = grown(counts, () => 20);
  assert.ok(slopeDifference(points, "transactions") < 0.001);
  assert.ok(
    predictionError(points.map((point) => [point.count, point.hourly.transactions])) < 0.001,
  );
});

test("a cost that grows with the square of the hosts is noticed", () => {
  const points = grown(counts, (count) => 20 + count / 50);
  assert.ok(slopeDifference(points, "transactions") > 0.1);
  assert.ok(predictionError(points.map((point) => [point.count, point.hourly.transactions])) > 0.2);
});

/** Even its smallest run takes a minute; `npm run scale -- storm` runs it. */
const withoutSlice = "storm";

// Most of the time they wait, so two at once do not disturb each other.
suite("small slices", { concurrency: 2 }, () => {
  for (const [name, experiment] of Object.entries(experiments)) {
    if (name === withoutSlice) continue;
    test(`${name}: ${experiment.summary}`, async () => {
      const figures = await runExperiment(experiment, "small");
      for (const figure of figures) tell(jsonLine(figure));
      const missed = figures.filter(({ met }) => met === false);
      assert.deepEqual(missed, []);
    });
  }
});
