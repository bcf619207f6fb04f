import { type ImageEditInput, type ImageGenerationInput, ImageOutput } from '@gateway/contracts/jobs';
import type { JobActs, JobContext } from '@gateway/jobs/job-act';
import { askForImages, modelOfJob, readImagesReply } from './ask-upstream.ts';
import { editRequest } from './edit-request.ts';
import { generationRequest } from './generation-request.ts';
import type { ImageMaker } from './image-maker.ts';
import { openMasks } from './mask-for.ts';
import { storedOutput, storeImages } from './store-images.ts';

type Job = Pick<JobContext, 'jobId' | 'signal'>;

/** Makes images from a prompt and stores them. @throws {GatewayError} */
export async function generateImages(
  maker: ImageMaker,
  input: ImageGenerationInput,
  { jobId, signal }: Job,
): Promise<ImageOutput> {
  const { upstream } = maker;
  const { parameters, strict } = input;
  const model = modelOfJob(upstream, input.model);
  const { reply, dropped } = await askForImages({
    upstream,
    candidates: upstream.candidates({ model, protocol: 'images' }),
    prepare: (candidate) => generationRequest({ model, candidate, parameters, strict }),
    streamed: false,
    signal,
  });
  return storeImages({ maker, jobId, reply, images: await readImagesReply(reply), dropped });
}

/** Makes images from images and a prompt and stores them. @throws {GatewayError} */
export async function editImages(
  maker: ImageMaker,
  input: ImageEditInput,
  { jobId, signal }: Job,
): Promise<ImageOutput> {
  const { upstream, uploads } = maker;
  const model = modelOfJob(upstream, input.model);
  await using masks = openMasks(input.mask, model, uploads);
  const { reply, dropped } = await askForImages({
    upstream,
    candidates: upstream.candidates({ model, protocol: 'images' }),
    prepare: async (candidate) =>
      editRequest({ model, candidate, input, mask: await masks.for(candidate), uploads }),
    streamed: false,
    signal,
  });
  return storeImages({ maker, jobId, reply, images: await readImagesReply(reply), dropped });
}

/** What an image worker does. */
export function imageActs(maker: ImageMaker): JobActs {
  const recover = async (_input: unknown, jobId: string): Promise<ImageOutput | undefined> => {
    const output = await storedOutput(maker.assets, jobId);
    return output === undefined ? undefined : ImageOutput.parse(output);
  };
  return {
    'image.generation': { run: (input, context) => generateImages(maker, input, context), recover },
    'image.edit': { run: (input, context) => editImages(maker, input, context), recover },
  };
}
