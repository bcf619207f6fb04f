import { z } from 'zod';
import { familyOf } from '../tools/built-in-tools.ts';

const usd = z.number().min(0);

/** US dollars by size, by quality, or by both: `{ 1024x1024: 0.04 }`, `{ hd: 0.08 }`, `{ 1024x1024: { hd: 0.08 } }`; `default` is what is not named. */
const ImagePrices = z.record(z.string().min(1), z.union([usd, z.record(z.string().min(1), usd)]));

/** Another name of a family would never be charged. */
const ToolFamily = z
  .string()
  .min(1)
  .superRefine((name, { addIssue }) => {
    const family = familyOf(name);
    if (name !== family)
      addIssue({ code: 'custom', message: `the family of a tool, which is '${family}' for '${name}'` });
  });

const tokenPrices = {
  inputPerMTok: usd.optional(),
  /** Input read from the provider's prompt cache. Absent: as `inputPerMTok`. */
  cachedInputPerMTok: usd.optional(),
  /** Input written to the provider's prompt cache. Absent: as `inputPerMTok`. */
  cacheWritePerMTok: usd.optional(),
  /** Input written to it for an hour. Absent: 1.6 times `cacheWritePerMTok`, else as `inputPerMTok`. */
  cacheWrite1hPerMTok: usd.optional(),
  outputPerMTok: usd.optional(),
  /** Output spent on reasoning. Absent: as `outputPerMTok`. */
  reasoningPerMTok: usd.optional(),
  /** Input that is sound. Absent: as `inputPerMTok`. */
  audioInputPerMTok: usd.optional(),
  /** Sound read from the provider's prompt cache. Absent: as `audioInputPerMTok`, else as `cachedInputPerMTok`. */
  cachedAudioInputPerMTok: usd.optional(),
  /** Input that is images. Absent: as `inputPerMTok`. */
  imageInputPerMTok: usd.optional(),
  /** Images read from the provider's prompt cache. Absent: as `imageInputPerMTok`, else as `cachedInputPerMTok`. */
  cachedImageInputPerMTok: usd.optional(),
  /** Output that is sound. Absent: as `outputPerMTok`. */
  audioOutputPerMTok: usd.optional(),
};
const TokenPrices = z.strictObject(tokenPrices);

/** What a model costs, in US dollars. MTok is a million tokens. Members that are absent cost nothing of their own. */
export const Price = z.strictObject({
  ...tokenPrices,
  /** Other token prices for requests whose input is larger than this many tokens. */
  longContext: TokenPrices.extend({ aboveInputTokens: z.int().min(1) }).optional(),
  /**
   * Other token prices by the service tier that the provider reports, such as `flex` or `priority`. Its own `longContext` is for
   * input beyond the model's bound; absent: the tier's prices rise there as the model's do.
   */
  serviceTiers: z
    .record(z.string().min(1), TokenPrices.extend({ longContext: TokenPrices.optional() }))
    .optional(),
  perImage: z
    .union([usd, ImagePrices], {
      error: 'a price in US dollars, or a table of prices by size, by quality, or by size and then quality',
    })
    .optional(),
  /** Per minute of audio. */
  perMinute: usd.optional(),
  /** Per million characters of speech input. */
  perMillionChars: usd.optional(),
  perRequest: usd.optional(),
  /**
   * Per thousand calls of a built-in tool, by its family: `{ web_search: 10, file_search: 2.5 }`. Of `code_interpreter` per
   * thousand containers that responses use. What a call adds to the input is charged as tokens beside it.
   */
  perThousandToolCalls: z.record(ToolFamily, usd).optional(),
});
export type Price = z.infer<typeof Price>;
/** The prices of a price that are for tokens. */
export type TokenPrices = z.infer<typeof TokenPrices>;
