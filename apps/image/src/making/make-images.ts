import { isEventStream } from '@gateway/contracts/event-stream/sse-frames';
import { type ImageEditInput, type ImageGenerationInput, ImageOutput } from '@gateway/contracts/jobs';
import { jsonIn } from '@gateway/contracts/json/json-object';
import { readOutput } from '@gateway/jobs/files/job-files';
import type { JobContext, JobProcessors } from '@gateway/jobs/worker/job-processor';
import { withJobContent } from '@gateway/model-service/content-log/job-content';
import { createDiscardedUsage } from '@gateway/model-service/jobs/discarded-usage';
import { listAttempts, type OnAttempt } from '@gateway/model-service/jobs/job-attempts';
import type { StreamHead } from '@gateway/model-service/jobs/stream-head';
import { readStream } from '@gateway/model-service/stream/relayed-stream';
import { usageDetail } from '@gateway/model-service/usage-detail';
import type { Candidate } from '@gateway/upstream/candidate';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import { modelOfJob } from '@gateway/upstream/model-for';
import { attemptsHeader } from '@gateway/upstream/replies/attempts-header';
import type { Reply } from '@gateway/upstream/replies/reply';
import { streamingCandidates } from '../families/rules-for.ts';
import { estimateImages, orderOfJob, usageOfDiscarded, usageOfImages } from '../metering/image-order.ts';
import { eventsOfReply, imageStream } from '../stream/image-events.ts';
import { bytesThroughLibrary } from './bytes-in-flight.ts';
import { withCheckedPrompt } from './checked-prompt.ts';
import { EDIT_CONTENT, GENERATION_CONTENT } from './image-content.ts';
import { createImageCollector, paidFor } from './reply/image-collector.ts';
import { receiveImages } from './reply/receive-images.ts';
import { type ImageMaker, storeImage, storeImages } from './reply/store-images.ts';
import { readWholeImages } from './reply/whole-images.ts';
import { type Prepare, requestImages } from './request/call-upstream.ts';
import { editRequest } from './request/edit-request.ts';
import { generationRequest } from './request/generation-request.ts';
import { openMasks } from './request/mask-for.ts';

interface Job extends Pick<JobContext, 'jobId' | 'signal' | 'trace' | 'consumed' | 'emit'> {
  readonly onAttempt: OnAttempt;
}
type Input = ImageGenerationInput | ImageEditInput;

/** Makes images from a prompt and stores them. @throws {GatewayError} */
export async function generateImages(
  maker: ImageMaker,
  input: ImageGenerationInput,
  job: Job,
): Promise<ImageOutput> {
  const { strict, stream } = input;
  const parameters = stream ? { ...input.parameters, stream } : input.parameters;
  const model = modelOfJob(maker.upstream, input.model);
  const prepare = (candidate: Candidate) => generationRequest({ model, candidate, parameters, strict });
  return make({ maker, input, model, prepare, job });
}

/** Makes images from images and a prompt and stores them. @throws {GatewayError} */
export async function editImages(maker: ImageMaker, input: ImageEditInput, job: Job): Promise<ImageOutput> {
  const { upstream, uploads } = maker;
  const model = modelOfJob(upstream, input.model);
  await using masks = openMasks(input.mask, model, uploads);
  const requested = input.stream ? withStream(input) : input;
  const prepare = async (candidate: Candidate) =>
    editRequest({ model, candidate, input: requested, mask: await masks.for(candidate), uploads });
  return await make({ maker, input, model, prepare, job });
}

/** The form of an edit whose images are wanted as they come. */
const withStream = (input: ImageEditInput): ImageEditInput => ({
  ...input,
  fields: [...input.fields, ['stream', 'true']],
});

interface MakeOptions {
  readonly maker: ImageMaker;
  readonly input: Input;
  readonly model: ResolvedModel;
  readonly prepare: Prepare;
  readonly job: Job;
}

/** What was made is charged even if it is then lost on its way into the store. */
async function make({ maker, input, model, prepare, job: made }: MakeOptions): Promise<ImageOutput> {
  const { upstream } = maker;
  const discarded = createDiscardedUsage(made.consumed);
  const job: Job = { ...made, consumed: (usage) => made.consumed(usage && discarded.with(usage)) };
  const order = orderOfJob(input);
  const { reply, dropped } = await requestImages({
    upstream,
    candidates: input.stream
      ? streamingCandidates(upstream, model)
      : upstream.candidates({ model, protocol: 'images' }),
    prepare,
    streamed: input.stream ?? false,
    signal: job.signal,
    trace: job.trace,
    onAttempt: job.onAttempt,
    onDiscarded: (reply) => {
      const usage = usageOfDiscarded(model.price, reply);
      if (usage !== null) discarded.add(usage);
    },
  });
  const requested = requestedOf(reply, dropped, input.stream ?? false);
  job.consumed({ ...estimateImages(model, order), ...requested });
  // Nobody follows the events of a reply that streams although it was not requested.
  if (input.stream || isEventStream(reply.headers))
    return collectImages({ maker, model, input, reply, dropped, job });
  const { jobId } = job;
  const received = await receiveImages(reply, (index, bytes) =>
    storeImage(maker.assets, { jobId, index }, bytes),
  );
  const { price } = model;
  const usage = usageOfImages({
    price,
    order,
    images: received.images.data.length,
    reported: [received.images],
    ...requested,
  });
  job.consumed(usage);
  const { costMicroUsd } = usage;
  const { responseFormat } = input;
  return storeImages({ maker, jobId, reply, received, dropped, costMicroUsd, responseFormat });
}

/** Who answered, and how it went until then. */
const requestedOf = ({ candidate, attempts }: Reply, dropped: readonly string[], isStreamed: boolean) => ({
  channel: candidate.channel.name,
  attempts: attempts.length,
  detail: usageDetail({ attempts, dropped: dropped.join(', '), isStreamed }),
});

interface CollectOptions extends Pick<MakeOptions, 'maker' | 'model' | 'input' | 'job'> {
  readonly reply: Reply;
  readonly dropped: readonly string[];
}

/** Takes images as they come, and emits them for those who follow the job. Of a stream that breaks, what was completed is charged. */
async function collectImages({
  maker,
  model,
  input,
  reply,
  dropped,
  job,
}: CollectOptions): Promise<ImageOutput> {
  const order = orderOfJob(input);
  const requested = requestedOf(reply, dropped, input.stream ?? false);
  const { channel, attempts } = requested;
  const collectorFor = (missing: readonly string[]) =>
    createImageCollector({
      assets: maker.assets,
      jobId: job.jobId,
      emit: input.stream ? job.emit : null,
      head: headOf(reply, [...dropped, ...missing]),
    });
  const charge = (images: number, completed: readonly string[]) => {
    const reported = completed.map((text) => jsonIn(text));
    const usage = usageOfImages({ price: model.price, order, images, reported, ...requested });
    job.consumed(usage);
    return usage.costMicroUsd;
  };
  const { responseFormat } = input;
  const end = { channel, responseFormat, upstreamAttempts: attempts, nowMs: maker.now() };
  if (!isEventStream(reply.headers)) {
    const { images, missing } = await readWholeImages(reply, maker.upstream).catch((error: unknown) => {
      throw paidFor(error);
    });
    const events = eventsOfReply(images, order.inputImages > 0 ? 'image_edit' : 'image_generation');
    const completed = events.map((event) => event.completed);
    // Images that were made and cannot be had are charged as well.
    const costMicroUsd = charge(completed.length + missing.length, completed);
    const collector = collectorFor(missing);
    for (const { data } of events) collector.take(data);
    return collector.finish({ ...end, dropped: [...dropped, ...missing], costMicroUsd });
  }
  const collector = collectorFor([]);
  const { events, stream } = imageStream(order.n ?? 1, collector.take);
  try {
    // The upstream waits while its images are stored.
    for await (const _ of readStream(reply, stream)) await collector.stored();
  } catch (error) {
    await collector.stored().catch(() => undefined);
    if (input.stream || events.completed.length > 0) charge(events.completed.length, events.completed);
    throw paidFor(error);
  }
  const costMicroUsd = charge(events.completed.length, events.completed);
  return collector.finish({ ...end, dropped: [...dropped], costMicroUsd });
}

const headOf = ({ candidate, attempts }: Reply, dropped: readonly string[]): StreamHead => ({
  channel: candidate.channel.name,
  dropped: [...dropped],
  attemptList: attemptsHeader(attempts) ?? undefined,
  account: candidate.account.name,
  upstreamAttempts: attempts.length,
});

/** What an image worker does. */
export function imageProcessors(maker: ImageMaker): JobProcessors {
  const recover = async (
    input: Input,
    { jobId, consumed }: Pick<Job, 'jobId' | 'consumed'>,
  ): Promise<ImageOutput | undefined> => {
    const stored = await readOutput(maker, jobId);
    if (stored === undefined) return undefined;
    const output = ImageOutput.parse(stored);
    const { channel, upstreamAttempts: attempts, members } = output;
    const price = maker.upstream.resolveModel(input.model)?.price ?? null;
    const images = output.images.length;
    consumed(
      usageOfImages({ price, order: orderOfJob(input), images, reported: [members], channel, attempts }),
    );
    return output;
  };
  const bytesOf = (input: Input) => bytesThroughLibrary(maker.upstream, input);
  return {
    'image.generation': {
      run: (input, context) =>
        withJobContent(
          maker.contentLog,
          { input, context, ...GENERATION_CONTENT },
          async (job, goesOnWith) => {
            const checked = await withCheckedPrompt(maker.checks, input, job);
            goesOnWith(checked);
            return listAttempts((onAttempt) => generateImages(maker, checked, { ...job, onAttempt }));
          },
        ),
      recover,
      bytesOf,
    },
    'image.edit': {
      run: (input, context) =>
        withJobContent(maker.contentLog, { input, context, ...EDIT_CONTENT }, async (job, goesOnWith) => {
          const checked = await withCheckedPrompt(maker.checks, input, job);
          goesOnWith(checked);
          return listAttempts((onAttempt) => editImages(maker, checked, { ...job, onAttempt }));
        }),
      recover,
      bytesOf,
    },
  };
}
