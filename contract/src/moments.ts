// Times and time zones, as callers write them and as results show them.
import { z } from "zod";

/** An instant, written as ISO 8601 in UTC, as every result shows times. */
export const Instant = z.iso.datetime();

/** When a record was created. */
export const CreatedAt = Instant.meta({ description: "When it was created." });

const dateTime =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$/;

/** Whether a text is an ISO 8601 date and time of an existing day. The offset is optional. */
export function isDateTime(text: string): boolean {
  const [, year, month, day, , offset] = dateTime.exec(text) ?? [];
  if (year === undefined || !dayExists(Number(year), Number(month), Number(day))) return false;
  // An offset can move the instant beyond the years that four digits, and databases, can represent.
  const utcYear = new Date(offset === undefined ? `${text}Z` : text).getUTCFullYear();
  return utcYear >= 1 && utcYear <= 9999;
}

function dayExists(year: number, month: number, day: number): boolean {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const lengths = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  return day >= 1 && day <= (lengths[month - 1] ?? 0);
}

/** A time as a caller writes it. Without an offset it is in the organization's time zone. */
export const DateTime = z
  .string()
  .check((context) => {
    if (!isDateTime(context.value)) {
      context.issues.push({
        code: "custom",
        input: context.value,
        message: "must be an ISO 8601 date and time, such as 2030-01-31T09:00:00Z",
      });
    }
  })
  .meta({
    description: "ISO 8601; without an offset in the organization's time zone.",
    pattern: dateTime.source,
  });

/** The name of a time zone in the IANA database, such as Europe/Berlin. */
export const TimeZone = z
  .string()
  .check((context) => {
    if (!isTimeZone(context.value)) {
      context.issues.push({
        code: "custom",
        input: context.value,
        message: "must be a time zone of the IANA database, such as Europe/Berlin",
      });
    }
  })
  .meta({ description: "A time zone of the IANA database, such as Europe/Berlin." });

/** Whether this runtime knows the time zone by name. Offsets such as +02:00 are no names. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
