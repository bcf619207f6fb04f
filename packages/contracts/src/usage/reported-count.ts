const DIGITS = /^\d{1,16}(?:\.\d{1,16})?$/;

/**
 * A count that a server reports, as a whole number: a fraction is rounded up, digits in quotes are a number, also of a fraction. 0 for what can be no
 * count, such as a negative number: like a count that is missing, it says nothing.
 */
export function reportedCount(value: unknown): number {
  if (typeof value === 'string') return DIGITS.test(value) ? reportedCount(Number(value)) : 0;
  if (typeof value !== 'number' || !(value > 0)) return 0;
  const count = Math.ceil(value);
  return Number.isSafeInteger(count) ? count : 0;
}
