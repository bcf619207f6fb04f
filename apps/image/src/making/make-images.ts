import { type ImageEditInput, type ImageGenerationInput, ImageOutput } from '@gateway/contracts/jobs';
import type { JobActs, JobContext } from '@gateway/jobs/job-act';
import { readOutput } from '@gateway/jobs/job-files';
import type { Candidate, ResolvedModel } from '@gateway/upstream/catalog';
import { estimateImages, usageOfImages } from '../metering/image-order.ts';
import { orderOfJob } from '../metering/job-order.ts';
import { askForImages, modelOfJob, type Prepare } from './ask-upstream.ts';
import { editRequest } from './edit-request.ts';
import { generationRequest } from './generation-request.ts';
import type { ImageMaker } from './image-maker.ts';
import { openMasks } from './mask-for.ts';
import { receiveImages } from './receive-images.ts';
import { storeImage, storeImages } from './store-images.ts';

type Job = Pick<JobContext, 'jobId' | 'signal' | 'consumed'>;
type Input = ImageGenerationInput | ImageEditInput;

/** Makes images from a prompt and stores them. @throws {GatewayError} */
export async function generateImages(
  maker: ImageMaker,
  input: ImageGenerationInput,
  job: Job,
): Promise<ImageOutput> {
  const { parameters, strict } = input;
  const model = modelOfJob(maker.upstream, input.model);
  const prepare = (candidate: Candidate) => generationRequest({ model, candidate, parameters, strict });
  return make({ maker, input, model, prepare, job });
}

/** Makes images from images and a prompt and stores them. @throws {GatewayError} */
export async function editImages(maker: ImageMaker, input: ImageEditInput, job: Job): Promise<ImageOutput> {
  const { upstream, uploads } = maker;
  const model = modelOfJob(upstream, input.model);
  await using masks = openMasks(input.mask, model, uploads);
  const prepare = async (candidate: Candidate) =>
    editRequest({ model, candidate, input, mask: await masks.for(candidate), uploads });
  return await make({ maker, input, model, prepare, job });
}

interface MakeOptions {
  readonly maker: ImageMaker;
  readonly input: Input;
  readonly model: ResolvedModel;
  readonly prepare: Prepare;
  readonly job: Job;
}

/** What was made is charged even if it is then lost on its way into the store. */
async function make({ maker, input, model, prepare, job }: MakeOptions): Promise<ImageOutput> {
  const { upstream } = maker;
  const order = orderOfJob(input);
  const { reply, dropped } = await askForImages({
    upstream,
    candidates: upstream.candidates({ model, protocol: 'images' }),
    prepare,
    streamed: false,
    signal: job.signal,
  });
  const asked = { channel: reply.candidate.channel.name, attempts: reply.attempts.length };
  job.consumed({ ...estimateImages(model, order), ...asked });
  const { jobId } = job;
  const received = await receiveImages(reply, (index, bytes) =>
    storeImage(maker.assets, { jobId, index }, bytes),
  );
  const { price } = model;
  const usage = usageOfImages({
    price,
    order,
    images: received.images.data.length,
    said: [received.images],
    ...asked,
  });
  job.consumed(usage);
  const { costMicroUsd } = usage;
  return storeImages({ maker, jobId, reply, received, dropped, costMicroUsd });
}

/** What an image worker does. */
export function imageActs(maker: ImageMaker): JobActs {
  const recover = async (
    input: Input,
    { jobId, consumed }: Omit<Job, 'signal'>,
  ): Promise<ImageOutput | undefined> => {
    const stored = await readOutput(maker, jobId);
    if (stored === undefined) return undefined;
    const output = ImageOutput.parse(stored);
    const { channel, upstreamAttempts: attempts, members } = output;
    const price = maker.upstream.resolveModel(input.model)?.price ?? null;
    const images = output.images.length;
    consumed(usageOfImages({ price, order: orderOfJob(input), images, said: [members], channel, attempts }));
    return output;
  };
  return {
    'image.generation': { run: (input, context) => generateImages(maker, input, context), recover },
    'image.edit': { run: (input, context) => editImages(maker, input, context), recover },
  };
}
