const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export const wholeNumber = (value: number): string => whole.format(value);

/** US dollars with as many decimals as a small sum needs: `$12.50`, `$0.0004`. */
export function usd(value: number): string {
  const decimals = value !== 0 && Math.abs(value) < 0.01 ? 6 : 2;
  return new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency: 'USD',
    minimumFractionDigits: 2,
    maximumFractionDigits: decimals,
  }).format(value);
}
