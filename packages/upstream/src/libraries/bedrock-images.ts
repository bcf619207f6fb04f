import type { ImageModelV4 } from '@ai-sdk/provider';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { z } from 'zod';
import type { LibrarySettings } from './library.ts';
import { AnsweredWithError } from './library-error.ts';
import { TaskRefused } from './library-fetch.ts';

type ImageOptions = Parameters<ImageModelV4['doGenerate']>[0];

/** The body that a maker has for InvokeModel. */
type BodyOf = (options: ImageOptions) => object;

/** Whose models these are; an ARN that does not say it is one of Amazon's. */
const STABILITY = /(?:^|[./])stability\./;
const isStability = (id: string): boolean => STABILITY.test(id);

/** Members of the request that neither maker calls by the protocol's name. */
const Extra = z.looseObject({
  quality: z.enum(['standard', 'premium']).optional(),
  negativePrompt: z.string().optional(),
  outputFormat: z.enum(['png', 'jpeg']).optional(),
});
const extraOf = ({ providerOptions }: ImageOptions) => Extra.parse(providerOptions.bedrock ?? {});

const base64Of = ({ files = [] }: ImageOptions): string[] =>
  files.flatMap((file) =>
    file.type === 'file'
      ? [typeof file.data === 'string' ? file.data : Buffer.from(file.data).toString('base64')]
      : [],
  );

/** Nova Canvas, and Titan before it: a task by its name, and how the images are made beside it. */
const amazonBody: BodyOf = (options) => {
  const { prompt = '', size, seed, n } = options;
  const { quality, negativePrompt } = extraOf(options);
  const [width, height] = size?.split('x').map(Number) ?? [];
  const images = base64Of(options);
  const said = {
    ...(prompt !== '' && { text: prompt }),
    ...(negativePrompt && { negativeText: negativePrompt }),
  };
  return {
    ...(images.length > 0
      ? { taskType: 'IMAGE_VARIATION', imageVariationParams: { ...said, images } }
      : { taskType: 'TEXT_IMAGE', textToImageParams: said }),
    imageGenerationConfig: {
      numberOfImages: n,
      ...(size && { width, height }),
      ...(quality && { quality }),
      ...(seed !== undefined && { seed }),
    },
  };
};

/** How much of an image to edit is made anew: Stability requires it, and OpenAI's edits have no word for it. */
const STRENGTH = 0.7;

const stabilityBody: BodyOf = (options) => {
  const { prompt, aspectRatio, seed } = options;
  const { negativePrompt, outputFormat } = extraOf(options);
  const [image] = base64Of(options);
  return {
    prompt,
    ...(image === undefined
      ? { mode: 'text-to-image', ...(aspectRatio && { aspect_ratio: aspectRatio }) }
      : { mode: 'image-to-image', image, strength: STRENGTH }),
    ...(negativePrompt && { negative_prompt: negativePrompt }),
    ...(seed !== undefined && { seed }),
    ...(outputFormat && { output_format: outputFormat }),
  };
};

const Reply = z.object({
  images: z.array(z.string()).nullish(),
  /** Of Amazon's models: why some images are missing. */
  error: z.string().nullish(),
  /** Of Stability's, by image. */
  finish_reasons: z.array(z.string().nullable()).nullish(),
});

/** Images of Bedrock, by InvokeModel with the body of their maker. */
export const bedrockImages = (modelId: string, base: string, { fetch }: LibrarySettings): ImageModelV4 => ({
  specificationVersion: 'v4',
  provider: 'amazon-bedrock.image',
  modelId,
  maxImagesPerCall: isStability(modelId) ? 1 : 5,
  async doGenerate(options) {
    const body = isStability(modelId) ? stabilityBody(options) : amazonBody(options);
    const reply = await fetch(`${base}/model/${encodeURIComponent(modelId)}/invoke`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(body),
      ...(options.abortSignal && { signal: options.abortSignal }),
    });
    const text = await reply.text();
    if (!reply.ok) throw new AnsweredWithError(`answered ${reply.status}`, reply, text);
    const { images, error, finish_reasons: reasons } = Reply.parse(jsonIn(text));
    const why = error ?? reasons?.find((reason) => reason !== null);
    const made = (images ?? []).filter((image, at) => image !== '' && (reasons?.[at] ?? null) === null);
    if (made.length === 0) throw new TaskRefused(why ?? 'The model made no image.', 'moderation_blocked');
    return {
      images: made,
      warnings: [],
      response: { timestamp: new Date(), modelId, headers: Object.fromEntries(reply.headers) },
    };
  },
});
