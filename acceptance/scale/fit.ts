// Lines through measured points: how a cost grows with a number of hosts or viewers.
import { quantities, type Quantities } from "./meter.ts";

/** What an hour cost with this many hosts or viewers. */
export interface Point {
  count: number;
  hourly: Quantities;
}

/** fixed + each * count. */
export interface Line {
  fixed: number;
  each: number;
}

/** The line with the least squared distances from the points. */
export function fitLine(points: readonly (readonly [x: number, y: number])[]): Line {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const meanX = mean(points.map(([x]) => x));
  const meanY = mean(points.map(([, y]) => y));
  const covariance = mean(points.map(([x, y]) => (x - meanX) * (y - meanY)));
  const variance = mean(points.map(([x]) => (x - meanX) ** 2));
  const each = covariance / variance;
  return { fixed: meanY - each * meanX, each };
}

function fitGrowth(points: readonly Point[], quantity: keyof Quantities): Line {
  return fitLine(points.map(({ count, hourly }) => [count, hourly[quantity]]));
}

/** What each further host or viewer adds to an hour. */
export function slopes(points: readonly Point[]): Quantities {
  const entries = quantities.map((quantity) => [quantity, fitGrowth(points, quantity).each]);
  return Object.fromEntries(entries) as Quantities;
}

/** What an hour costs with this many, by the fitted lines. */
export function hourlyAt(points: readonly Point[], count: number): Quantities {
  const entries = quantities.map((quantity) => {
    const { fixed, each } = fitGrowth(points, quantity);
    return [quantity, fixed + each * count];
  });
  return Object.fromEntries(entries) as Quantities;
}

/** The difference between the slopes of both halves of the points, as a share of the larger slope. */
export function slopeDifference(points: readonly Point[], quantity: keyof Quantities): number {
  const middle = points.length / 2;
  const smaller = fitGrowth(points.slice(0, middle), quantity).each;
  const larger = fitGrowth(points.slice(middle), quantity).each;
  return share(larger - smaller, Math.max(Math.abs(larger), Math.abs(smaller)));
}

/** How far the line through all other points misses the largest one, as a share of it. */
export function predictionError(points: readonly (readonly [x: number, y: number])[]): number {
  const sorted = points.toSorted(([a], [b]) => a - b);
  const [x, y] = sorted.at(-1)!;
  const { fixed, each } = fitLine(sorted.slice(0, -1));
  return share(fixed + each * x - y, y);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** A number even if the whole is zero, as in a slice that is too small to measure. */
function share(part: number, whole: number): number {
  return Math.abs(part) / Math.max(Math.abs(whole), 1e-9);
}
