import { z } from 'zod';
import { ImageResponseFormat } from '../jobs.ts';
import { INTEGER } from '../wire-types.ts';

const integer = () => z.int({ error: INTEGER });
const text = z.string().nullish();

/**
 * The common members of the two image requests: only those that the gateway checks or uses; all others pass unchanged.
 * The values that a model takes are data of its family, not of the protocol.
 */
const ImageRequest = z.looseObject({
  model: z.string().min(1),
  prompt: z.string().min(1),
  n: integer().min(1).nullish(),
  size: text,
  quality: text,
  response_format: ImageResponseFormat.nullish(),
  style: text,
  background: text,
  moderation: text,
  output_format: text,
  output_compression: integer().min(0).max(100).nullish(),
  stream: z.boolean().nullish(),
  partial_images: integer().min(0).max(3).nullish(),
  user: text,
});

/** `POST /v1/images/generations`. */
export const ImageGenerationRequest = ImageRequest;
export type ImageGenerationRequest = z.infer<typeof ImageGenerationRequest>;

/** The text parts of `POST /v1/images/edits`, from the form: numbers and booleans as such, empty parts absent. */
export const ImageEditRequest = ImageRequest.extend({ input_fidelity: text });
export type ImageEditRequest = z.infer<typeof ImageEditRequest>;

/** Text parts of the form that mean a number or a boolean. */
export const IMAGE_FORM_NUMBERS = ['n', 'output_compression', 'partial_images'] as const;
export const IMAGE_FORM_BOOLEANS = ['stream'] as const;

/** A provider's answer. An entry has the image itself or its URL. */
export const ImagesReply = z.looseObject({
  created: z.number().nullish(),
  data: z
    .array(z.looseObject({ b64_json: z.string().nullish(), url: z.string().nullish() }))
    .min(1)
    .max(100),
});
export type ImagesReply = z.infer<typeof ImagesReply>;
