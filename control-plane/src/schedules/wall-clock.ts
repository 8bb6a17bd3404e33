// Wall-clock times in a time zone, and the instants they stand for.
//
// A wall-clock time is written as the milliseconds that UTC would have if its clocks showed that time.

const day = 86_400_000;

const formatters = new Map<string, Intl.DateTimeFormat>();

/** What the clocks of a time zone show at an instant. */
export function wallClockAt(timeZone: string, instant: number): number {
  return instant + offsetAt(timeZone, instant);
}

/**
 * The instant at which the clocks of a time zone show a time. If they show it twice, the first. If they skip it,
 * the time moves forward by as much as they skip.
 */
export function instantOf(timeZone: string, wallClock: number): number {
  const before = offsetAt(timeZone, wallClock - day);
  const after = offsetAt(timeZone, wallClock + day);
  // The larger offset gives the earlier instant.
  const offsets = [Math.max(before, after), Math.min(before, after)];
  const shown = offsets.find((offset) => offsetAt(timeZone, wallClock - offset) === offset);
  return wallClock - (shown ?? before);
}

/**
 * Offsets at the beginning of days in UTC, by time zone and number of the day. Reading one takes as long as a
 * hundred of these look-ups, and thousands of schedules can be due at once.
 */
const known = new Map<string, number>();
const mostKnown = 20_000;

/** How far the clocks are ahead of UTC, in milliseconds. */
function offsetAt(timeZone: string, instant: number): number {
  const number = Math.floor(instant / day);
  const offset = offsetAtDay(timeZone, number);
  // Clocks are never changed and changed back within a day.
  return offset === offsetAtDay(timeZone, number + 1) ? offset : readOffset(timeZone, instant);
}

function offsetAtDay(timeZone: string, number: number): number {
  const key = `${timeZone} ${number}`;
  let offset = known.get(key);
  if (offset === undefined) {
    if (known.size >= mostKnown) known.clear();
    offset = readOffset(timeZone, number * day);
    known.set(key, offset);
  }
  return offset;
}

function readOffset(timeZone: string, instant: number): number {
  const wholeSecond = Math.floor(instant / 1000) * 1000;
  const parts = new Map(
    formatterOf(timeZone)
      .formatToParts(wholeSecond)
      .map((part) => [part.type, part.value]),
  );
  const number = (type: Intl.DateTimeFormatPartTypes) => Number(parts.get(type));
  // The year before 1 AD is 1 BC.
  const year = parts.get("era") === "BC" ? 1 - number("year") : number("year");
  const shown = new Date(0);
  shown.setUTCFullYear(year, number("month") - 1, number("day"));
  shown.setUTCHours(number("hour"), number("minute"), number("second"));
  return shown.getTime() - wholeSecond;
}

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  // Names are equal whatever their case.
  const name = timeZone.toLowerCase();
  let formatter = formatters.get(name);
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    formatters.set(name, formatter);
  }
  return formatter;
}
