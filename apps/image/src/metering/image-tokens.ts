import { lookUp } from '@gateway/contracts/look-up';

/**
 * Output tokens of one image of 1024×1024 by its quality, as OpenAI lists them for the gpt-image models; other sizes in
 * proportion to their area.
 */
const TOKENS_BY_QUALITY: Readonly<Record<string, number>> = {
  low: 272,
  medium: 1056,
  high: 4160,
  xhigh: 6240,
  max: 8320,
};
const SQUARE_PIXELS = 1024 * 1024;
/** What a model that chooses for itself chooses at most: 1536×1024, and high quality. */
const CHOSEN_PIXELS = 1536 * 1024;
const CHOSEN_TOKENS = 4160;
/** Beside rounding, and for each partial image that is streamed. */
const MORE_TOKENS = 100;
/** An image to edit, at high fidelity. */
const TOKENS_PER_INPUT_IMAGE = 7000;

interface TokenOrder {
  readonly prompt: string;
  readonly size: string | undefined;
  readonly quality: string | undefined;
  readonly partialImages: number;
  readonly inputImages: number;
}

/** The most output tokens of one image. */
export function outputTokensPerImage({ size, quality, partialImages }: TokenOrder): number {
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(size ?? '') ?? [];
  const pixels = width === undefined ? CHOSEN_PIXELS : Number(width) * Number(height);
  const perSquare = lookUp(TOKENS_BY_QUALITY, quality) ?? CHOSEN_TOKENS;
  return Math.ceil((perSquare * pixels) / SQUARE_PIXELS) + MORE_TOKENS * (1 + partialImages);
}

/** The most input tokens of a request: no text has more tokens than bytes. */
export const inputTokens = ({ prompt, inputImages }: TokenOrder): number =>
  Buffer.byteLength(prompt) + inputImages * TOKENS_PER_INPUT_IMAGE;
