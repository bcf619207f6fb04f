import { z } from 'zod';

const words = z.array(z.string().min(1)).min(1);

/**
 * The rules of an image family that the configuration gives itself. Absent: that rule is not checked.
 * Members that are not named here are passed to the image service unchanged.
 */
export const ImageFamily = z.looseObject({
  /** Such as `1024x1024`; `auto` where the provider chooses. The first one is the default. */
  sizes: words.optional(),
  qualities: words.optional(),
  styles: words.optional(),
  promptMaxChars: z.number().int().min(1).optional(),
  maxN: z.number().int().min(1).max(100).optional(),
  /** How many images an edit may take. */
  maxInputImages: z.number().int().min(1).max(100).optional(),
  /** The default for callers who do not set it. */
  defaultResponseFormat: z.enum(['url', 'b64_json']).optional(),
  /** Whether the provider takes `response_format`; if not, it is left out and the result converted. */
  acceptsResponseFormat: z.boolean().optional(),
});
export type ImageFamily = z.infer<typeof ImageFamily>;
