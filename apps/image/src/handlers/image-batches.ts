import type { ImageOutput } from '@gateway/contracts/jobs';
import type { BatchService } from '@gateway/model-service/batch/batch-service';
import { type JobLineEndpoint, noStream } from '@gateway/model-service/batch/line-endpoint';
import { jsonEdit } from '../form/read-edit.ts';
import { estimateImages } from '../metering/image-order.ts';
import { checkEdit, checkEditRules } from './edits-handler.ts';
import { checkGeneration } from './generations-handler.ts';
import type { ImageService } from './image-service.ts';
import { renderReply } from './render-reply.ts';

type ImageLine = 'image.generation' | 'image.edit';

/** What batches of images consist of: generations, and edits in JSON. */
export function imageBatches(service: ImageService): BatchService<ImageLine, 'image.batch'> {
  const body = (output: ImageOutput) => bodyOf(service, output);
  return {
    ...service,
    kind: 'image.batch',
    endpoints: new Map<string, JobLineEndpoint<ImageLine>>([
      ['/v1/images/generations', generations(service)],
      ['/v1/images/edits', edits(service)],
    ]),
    bodies: { 'image.generation': body, 'image.edit': body },
  };
}

const generations = ({ upstream }: ImageService): JobLineEndpoint<'image.generation'> => ({
  kind: 'image.generation',
  scope: 'images',
  usage: 'images',
  prepare: (body, { identity, strict }) => {
    const { requested, model, rules } = checkGeneration(upstream, body, { identity, line: {} });
    const { model: _name, response_format: format, stream, ...parameters } = requested;
    if (stream) throw noStream('stream');
    const responseFormat = format ?? rules.defaultResponseFormat;
    return {
      estimate: estimateImages(model, { ...requested, inputImages: 0 }),
      input: async () => ({ model: model.name, parameters, responseFormat, strict }),
    };
  },
});

/** Images that are named by URL are fetched when the line's turn has come. */
const edits = (service: ImageService): JobLineEndpoint<'image.edit'> => ({
  kind: 'image.edit',
  scope: 'images',
  usage: 'images',
  prepare: (body, { identity, strict }) => {
    const { uploads, fetching } = service;
    const read = (signal: AbortSignal) => jsonEdit(body, { uploads, fetching, signal });
    const { requested } = read(NEVER);
    if (requested.stream) throw noStream('stream');
    const asker = { identity, line: {} };
    const { model } = checkEditRules(service, { requested }, asker);
    const { images } = requested;
    return {
      estimate: estimateImages(model, {
        ...requested,
        inputImages: Array.isArray(images) ? images.length : 1,
      }),
      input: async (signal) => {
        const received = read(signal);
        try {
          return (await checkEdit(service, received, { ...asker, strict })).input;
        } catch (error) {
          await received.discard();
          throw error;
        }
      },
    };
  },
});

const NEVER = new AbortController().signal;

async function* bodyOf(service: ImageService, output: ImageOutput): AsyncGenerator<string> {
  for (const { assetId } of output.images) {
    const asset = await service.assets.open(assetId);
    if (asset === undefined) throw new Error(`no asset ${assetId}`);
    await asset.close();
  }
  yield* renderReply(service, output, output.responseFormat ?? 'b64_json');
}
