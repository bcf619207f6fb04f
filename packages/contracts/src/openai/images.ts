import { z } from 'zod';
import { ImageResponseFormat } from '../jobs.ts';
import { INTEGER, problem } from '../wire-types.ts';

const integer = () => z.int({ error: INTEGER });
const text = z.string().nullish();
const MAX_FILE_ID_CHARACTERS = 200;
/** The most images of one edit. */
export const MAX_INPUT_IMAGES = 16;

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

const reference = (found: 'none' | 'both') =>
  problem([], {
    code: found === 'none' ? 'missing_required_parameter' : 'mutually_exclusive_parameters',
    openai:
      found === 'none'
        ? "An image needs 'image_url' (an http, https or data URL) or 'file_id'."
        : "An image takes either 'image_url' or 'file_id', not both.",
    anthropic: "needs either 'image_url' or 'file_id'",
  });

/** An image named in JSON: where it lies, itself as a data URL, or a file that the provider has. */
export const ImageReference = z
  .looseObject({
    image_url: z.string().min(1).nullish(),
    file_id: z.string().min(1).max(MAX_FILE_ID_CHARACTERS).nullish(),
  })
  .superRefine(({ image_url: url, file_id: id }, context) => {
    if (!url && !id) context.addIssue(reference('none'));
    if (url && id) context.addIssue(reference('both'));
  });
export type ImageReference = z.infer<typeof ImageReference>;

/** `POST /v1/images/edits` in JSON. */
export const ImageEditJsonRequest = ImageEditRequest.extend({
  images: z.array(ImageReference).min(1).max(MAX_INPUT_IMAGES),
  mask: ImageReference.nullish(),
  /** Lies over the first image and says what to change in it. */
  markup: ImageReference.nullish(),
});
export type ImageEditJsonRequest = z.infer<typeof ImageEditJsonRequest>;

/** Text parts of the form that mean something else than text. */
export const IMAGE_FORM_NUMBERS = [
  'n',
  'output_compression',
  'partial_images',
  'frame_count',
  'frame_duration_ms',
] as const;
export const IMAGE_FORM_BOOLEANS = ['stream'] as const;
/** Members that are objects, whose own members are parts of a form: `svg[model]`. */
export const IMAGE_FORM_OBJECTS = ['svg'] as const;

/** The last time that a `Date` can hold. */
const MAX_UNIX_SECONDS = 8.64e12;

/** When a provider made something, as it reports, in Unix seconds. What is no such time is left out: the work is no worse for it. */
export const ProviderTime = z.number().min(0).max(MAX_UNIX_SECONDS).optional().catch(undefined);

/** A provider's answer. An entry has the image itself or its URL. */
export const ImagesReply = z.looseObject({
  created: ProviderTime,
  data: z
    .array(z.looseObject({ b64_json: z.string().nullish(), url: z.string().nullish() }))
    .min(1)
    .max(100),
});
export type ImagesReply = z.infer<typeof ImagesReply>;
