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
  const [first, ...others] = ratios;
  if (!Number(width) || !Number(height) || first === undefined) return null;
  const wanted = Number(width) / Number(height);
  const distance = (ratio: Ratio) => Math.abs(Math.log(quotientOf(ratio) / wanted));
  const ratio = others.reduce((best, one) => (distance(one) < distance(best) ? one : best), first);
  return { ratio, isExact: distance(ratio) < 1e-9 };
}
