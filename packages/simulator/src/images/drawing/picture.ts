import { createHash } from 'node:crypto';

export type Colour = readonly [red: number, green: number, blue: number];

/** A vertical gradient, this provider's picture. Each row has one colour. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly top: Colour;
  readonly bottom: Colour;
  /** 255 is opaque. */
  readonly alpha: number;
}

/** The picture of a text: the same colours for the same text. */
export const pictureOf = (text: string, width: number, height: number, alpha = 255): Picture => {
  const [r1 = 0, g1 = 0, b1 = 0, r2 = 0, g2 = 0, b2 = 0] = createHash('sha256').update(text).digest();
  return { width, height, top: [r1, g1, b1], bottom: [r2, g2, b2], alpha };
};

export const rowColour = ({ top, bottom, height }: Picture, row: number): Colour => {
  const share = height < 2 ? 0 : row / (height - 1);
  const mix = (from: number, to: number): number => Math.round(from + (to - from) * share);
  return [mix(top[0], bottom[0]), mix(top[1], bottom[1]), mix(top[2], bottom[2])];
};
