import type { Identity } from '@gateway/contracts/identity';
import type { ImageEditInput } from '@gateway/contracts/jobs';
import { isStrict, wishesOf } from '@gateway/model-service/jobs/job-wishes';
import { reserveSlot, submitJob } from '@gateway/model-service/jobs/submit-job';
import { discardRest } from '@gateway/service-kit/request/discard-rest';
import type { Handler } from '@gateway/service-kit/request/handler';
import { contextOf, identityOf, type LogFields } from '@gateway/service-kit/request/request-context';
import { modelFor } from '@gateway/upstream/model-for';
import { checkRules } from '../families/check-rules.ts';
import { rulesFor, streamingCandidates } from '../families/rules-for.ts';
import { inspectFiles } from '../form/inspect-files.ts';
import { type ReceivedEdit, readEdit } from '../form/read-edit.ts';
import { estimateImages } from '../metering/image-order.ts';
import { answerImageJob } from './answer-image-job.ts';
import type { ImageService } from './image-service.ts';

/** Members that the gateway sets or reads itself. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['model', 'response_format', 'stream']);

const KIND = 'image.edit';

/** `POST /v1/images/edits`: reads the images to disk, checks them, has a worker edit them, and answers with what it made. */
export const editsHandler =
  (service: ImageService): Handler =>
  async (request, response) => {
    const wishes = wishesOf(request);
    await using slot = await reserveSlot(service, { kind: KIND, wishes, request }).catch((error: unknown) => {
      discardRest(request);
      throw error;
    });
    const received = await readEdit(request, response, service);
    let isQueued = false;
    try {
      const { model, input, order, streams } = await checkEdit(service, received, {
        identity: identityOf(request),
        strict: isStrict(request),
        line: contextOf(request).line,
      });
      if (streams) streamingCandidates(service.upstream, model);
      const submitted = await submitJob(service, {
        kind: KIND,
        endpoint: 'images',
        estimate: estimateImages(model, order),
        names: { endUser: input.fields.find(([name]) => name === 'user')?.[1] ?? null },
        input,
        slot,
        wishes,
        fingerprint: () => received.fingerprint(`${KIND} ${input.strict}`),
        request,
        response,
      });
      // From here on its files belong to the job. A job that was there before has its own.
      if (!submitted.isNew) await received.discard();
      isQueued = true;
      const { responseFormat: format } = input;
      await answerImageJob({ service, kind: KIND, submitted, format, streams, request, response });
    } finally {
      if (!isQueued) await received.discard();
    }
  };

interface EditAsker {
  readonly identity: Pick<Identity, 'models'>;
  readonly strict: boolean;
  readonly line: LogFields;
}

/** @throws {GatewayError} for what the model's family does not have; the images themselves come later */
export function checkEditRules(
  { upstream }: Pick<ImageService, 'upstream'>,
  { requested }: Pick<ReceivedEdit, 'requested'>,
  { identity, line }: Omit<EditAsker, 'strict'>,
) {
  const model = modelFor(upstream, { name: requested.model, protocols: ['images'], identity });
  const rules = rulesFor(model);
  Object.assign(line, { model: model.name, size: requested.size ?? undefined });
  checkRules(requested, rules);
  return { model, rules };
}

export async function checkEdit(
  service: Pick<ImageService, 'upstream' | 'uploads'>,
  received: ReceivedEdit,
  { identity, strict, line }: EditAsker,
) {
  const { requested, fields } = received;
  const { model, rules } = checkEditRules(service, received, { identity, line });
  const streams = requested.stream === true;
  const files = await received.files();
  line.inputImages = files.length;
  const { images, mask, markup } = await inspectFiles(files, {
    uploads: service.uploads,
    maxImages: rules.maxInputImages,
  });
  const input: ImageEditInput = {
    model: model.name,
    fields: fields.filter(([name]) => !OWN_FIELDS.has(name)).map(([name, value]) => [name, value]),
    images: [...images],
    mask,
    ...(markup && { markup }),
    // A stream carries bytes only.
    responseFormat: streams ? 'b64_json' : (requested.response_format ?? rules.defaultResponseFormat),
    strict,
    ...(streams && { stream: true }),
  };
  return { model, input, order: { ...requested, inputImages: images.length }, streams };
}
