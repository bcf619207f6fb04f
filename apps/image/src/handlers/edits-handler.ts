import type { ImageEditInput } from '@gateway/contracts/jobs';
import { ImageEditRequest } from '@gateway/contracts/openai/images';
import { type ReceivedForm, readForm } from '@gateway/forms/read-form';
import { fingerprintOfForm } from '@gateway/model-service/jobs/fingerprint';
import { wishesOf } from '@gateway/model-service/jobs/job-wishes';
import { reservePlace, submitJob } from '@gateway/model-service/jobs/submit-job';
import { discardRest } from '@gateway/service-kit/discard-rest';
import { refuseEncoding } from '@gateway/service-kit/json-body';
import { contextOf, identityOf } from '@gateway/service-kit/request-context';
import { validate } from '@gateway/service-kit/validate';
import { modelFor } from '@gateway/upstream/model-for';
import type { Request, RequestHandler, Response } from 'express';
import { checkRules } from '../families/check-rules.ts';
import { rulesFor } from '../families/rules-for.ts';
import { EDIT_FORM } from '../form/edit-form.ts';
import { formValues } from '../form/form-values.ts';
import { inspectFiles } from '../form/inspect-files.ts';
import { editRequest } from '../making/edit-request.ts';
import { withStream } from '../making/make-images.ts';
import { openMasks } from '../making/mask-for.ts';
import { streamingCandidates } from '../making/streaming-candidates.ts';
import { estimateImages } from '../metering/image-order.ts';
import { answerImageJob } from './answer-image-job.ts';
import { answerStream } from './answer-stream.ts';
import type { ImageService } from './image-service.ts';
import { isStrict } from './is-strict.ts';

/** Said by the gateway itself, or to it. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['model', 'response_format', 'stream']);

const KIND = 'image.edit';

/** `POST /v1/images/edits`: reads the form to disk, checks it, has a worker edit the images, and answers with them. */
export const editsHandler =
  (service: ImageService): RequestHandler =>
  async (request, response) => {
    const wishes = wishesOf(request);
    await using place = await reservePlace(service, { kind: KIND, wishes, request }).catch(
      (error: unknown) => {
        discardRest(request);
        throw error;
      },
    );
    refuseEncoding(request);
    const { uploads } = service;
    const form = await readForm(request, response, { rules: EDIT_FORM, uploads, discardRest });
    const uploadIds = form.files.map(({ uploadId }) => uploadId);
    let isQueued = false;
    try {
      const edit = await checkEdit(service, form, request);
      const { model, input, order, streams } = edit;
      if (streams && !wishes.isDetached) {
        await place?.free();
        await streamEdit(service, edit, request, response);
        return;
      }
      if (streams) streamingCandidates(service.upstream, model);
      const submitted = await submitJob(service, {
        kind: KIND,
        endpoint: 'images',
        estimate: estimateImages(model, order),
        input,
        place,
        wishes,
        fingerprint: () => fingerprintOfForm(`${KIND} ${input.strict}`, form, uploads),
        request,
        response,
      });
      // From here on they belong to the job. A job that was there before has its own.
      isQueued = submitted.isNew;
      if (!isQueued) await uploads.delete(...uploadIds);
      const { responseFormat: format } = input;
      await answerImageJob({ service, kind: KIND, submitted, format, streams, request, response });
    } finally {
      if (!isQueued) await uploads.delete(...uploadIds);
    }
  };

type CheckedEdit = Awaited<ReturnType<typeof checkEdit>>;

async function checkEdit({ upstream, uploads }: ImageService, form: ReceivedForm, request: Request) {
  const { files } = form;
  // An optional part may be an empty text, which is as good as none.
  const fields = form.fields.filter(([, value]) => value !== '');
  const { line } = contextOf(request);
  const asked = validate(ImageEditRequest, formValues(fields));
  const model = modelFor(upstream, {
    name: asked.model,
    protocols: ['images'],
    identity: identityOf(request),
  });
  const rules = rulesFor(model);
  const streams = asked.stream === true;
  Object.assign(line, { model: model.name, size: asked.size ?? undefined, inputImages: files.length });
  checkRules(asked, rules);
  const { images, mask } = await inspectFiles(files, { uploads, maxImages: rules.maxInputImages });
  const input: ImageEditInput = {
    model: model.name,
    fields: fields.filter(([name]) => !OWN_FIELDS.has(name)).map(([name, value]) => [name, value]),
    images: [...images],
    mask,
    // A stream has room for bytes only.
    responseFormat: streams ? 'b64_json' : (asked.response_format ?? rules.defaultResponseFormat),
    strict: isStrict(request),
    ...(streams && { stream: true }),
  };
  return { model, input, order: { ...asked, inputImages: images.length }, streams };
}

async function streamEdit(
  service: ImageService,
  { model, input, order }: CheckedEdit,
  request: Request,
  response: Response,
): Promise<void> {
  const { uploads } = service;
  await using masks = openMasks(input.mask, model, uploads);
  const streamed = withStream(input);
  await answerStream({
    service,
    kind: KIND,
    model,
    order,
    prepare: async (candidate) =>
      editRequest({ model, candidate, input: streamed, mask: await masks.for(candidate), uploads }),
    request,
    response,
  });
}
