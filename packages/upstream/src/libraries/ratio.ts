type Ratio = `${number}:${number}`;

const SIZE = /^(\d{1,5})x(\d{1,5})$/;

/** A size of the protocol, such as `1024x1536`; null for another text. */
export function sizeOf(size: unknown): `${number}x${number}` | null {
  const [, width, height] = SIZE.exec(typeof size === 'string' ? size : '') ?? [];
  return width === undefined || height === undefined ? null : `${Number(width)}x${Number(height)}`;
}

const quotientOf = (ratio: Ratio): number => {
  const [width = 1, height = 1] = ratio.split(':').map(Number);
  return width / height;
};

/** The ratio that is the nearest to a size's own; null for a size that is none. */
export function ratioOf(
  size: unknown,
  ratios: readonly Ratio[],
): { readonly ratio: Ratio; readonly isExact: boolean } | null {
  const [, width, height] = SIZE.exec(typeof size === 'string' ? size : '') ?? [];
  if (!Number(width) || !Number(height)) return null;
  const wanted = Number(width) / Number(height);
  const ratio = nearest(wanted, ratios);
  return ratio === null ? null : { ratio, isExact: distance(ratio, wanted) < 1e-9 };
}

/** The one of these ratios that is the nearest to another one. */
export const nearestRatio = <Known extends Ratio>(ratio: Ratio, ratios: readonly Known[]): Known | null =>
  nearest(quotientOf(ratio), ratios);

const distance = (ratio: Ratio, wanted: number): number => Math.abs(Math.log(quotientOf(ratio) / wanted));

function nearest<Known extends Ratio>(wanted: number, [first, ...others]: readonly Known[]): Known | null {
  if (first === undefined) return null;
  return others.reduce((best, one) => (distance(one, wanted) < distance(best, wanted) ? one : best), first);
}
