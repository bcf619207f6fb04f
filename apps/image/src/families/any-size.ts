import { ANY_SIZE } from './image-rules.ts';

/** Whether a text is WIDTHxHEIGHT within the bounds of models that take any size. */
export function isAnySize(text: string): boolean {
  const [, width, height] = (/^(\d{1,5})x(\d{1,5})$/.exec(text) ?? []).map(Number);
  if (!width || !height) return false;
  const { divisibleBy, maxRatio, longestSide, shortestSide } = ANY_SIZE;
  const [long, short] = width > height ? [width, height] : [height, width];
  return (
    long % divisibleBy === 0 &&
    short % divisibleBy === 0 &&
    long <= short * maxRatio &&
    long <= longestSide &&
    short <= shortestSide
  );
}
