const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export const wholeNumber = (value: number): string => whole.format(value);

/** A price in US dollars, exact: `$1.25`, `$0.125`. */
export const price = (value: number): string => money(value, 6);

/** US dollars with as many decimals as a small sum needs: `$12.50`, `$0.0004`. */
export function usd(value: number): string {
  return money(value, value !== 0 && Math.abs(value) < 0.01 ? 6 : 2);
}

function money(value: number, decimals: number): string {
  return new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency: 'USD',
    minimumFractionDigits: Number.isInteger(value) ? 0 : 2,
    maximumFractionDigits: decimals,
  }).format(value);
}
