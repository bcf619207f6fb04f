import type { ImageEditInput } from '@gateway/contracts/jobs';
import { isStrict } from '@gateway/model-service/is-strict';
import { reserveJob } from '@gateway/model-service/metered-request';
import { discardRest } from '@gateway/service-kit/discard-rest';
import { contextOf, identityOf } from '@gateway/service-kit/request-context';
import { modelFor } from '@gateway/upstream/model-for';
import type { Request, RequestHandler, Response } from 'express';
import { checkRules } from '../families/check-rules.ts';
import { rulesFor } from '../families/rules-for.ts';
import { inspectFiles } from '../form/inspect-files.ts';
import { type ReceivedEdit, readEdit } from '../form/read-edit.ts';
import { editRequest } from '../making/edit-request.ts';
import { openMasks } from '../making/mask-for.ts';
import { estimateImages } from '../metering/image-order.ts';
import { answerJob } from './answer-job.ts';
import { answerStream } from './answer-stream.ts';
import type { ImageService } from './image-service.ts';

/** Said by the gateway itself, or to it. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['model', 'response_format', 'stream']);

/** `POST /v1/images/edits`: reads the images to disk, checks them, has a worker edit them, and answers with what it made. */
export const editsHandler =
  (service: ImageService): RequestHandler =>
  async (request, response) => {
    await service.queue.ensureRoom('image.edit').catch((error: unknown) => {
      discardRest(request);
      throw error;
    });
    const received = await readEdit(request, response, service);
    let isQueued = false;
    try {
      const edit = await checkEdit(service, received, request);
      if (edit.streams) {
        await streamEdit(service, edit, request, response);
        return;
      }
      const { model, order } = edit;
      const estimate = estimateImages(model, order);
      const costly = { endpoint: 'images', model: model.name, estimate, request, response };
      const owner = await reserveJob(service, 'image.edit', costly);
      const job = await service.queue.enqueue('image.edit', edit.input, owner);
      // From here on they belong to the job.
      isQueued = true;
      await answerJob({ service, job, format: edit.input.responseFormat, request, response });
    } finally {
      if (!isQueued) await received.discard();
    }
  };

type CheckedEdit = Awaited<ReturnType<typeof checkEdit>>;

async function checkEdit({ upstream, uploads }: ImageService, received: ReceivedEdit, request: Request) {
  const { asked, fields } = received;
  const { line } = contextOf(request);
  const model = modelFor(upstream, {
    name: asked.model,
    protocols: ['images'],
    identity: identityOf(request),
  });
  const rules = rulesFor(model);
  Object.assign(line, { model: model.name, size: asked.size ?? undefined });
  checkRules(asked, rules);
  const files = await received.files();
  line.inputImages = files.length;
  const { images, mask } = await inspectFiles(files, { uploads, maxImages: rules.maxInputImages });
  const input: ImageEditInput = {
    model: model.name,
    fields: fields.filter(([name]) => !OWN_FIELDS.has(name)).map(([name, value]) => [name, value]),
    images: [...images],
    mask,
    responseFormat: asked.response_format ?? rules.defaultResponseFormat,
    strict: isStrict(request),
  };
  return { model, input, order: { ...asked, inputImages: images.length }, streams: asked.stream === true };
}

async function streamEdit(
  service: ImageService,
  { model, input, order }: CheckedEdit,
  request: Request,
  response: Response,
): Promise<void> {
  const { uploads } = service;
  await using masks = openMasks(input.mask, model, uploads);
  const streamed: ImageEditInput = { ...input, fields: [...input.fields, ['stream', 'true']] };
  await answerStream({
    service,
    model,
    order,
    prepare: async (candidate) =>
      editRequest({ model, candidate, input: streamed, mask: await masks.for(candidate), uploads }),
    request,
    response,
  });
}
