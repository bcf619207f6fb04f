import type { Identity } from '@gateway/contracts/identity';
import { ImageGenerationRequest } from '@gateway/contracts/openai/images';
import { fingerprintOfJson } from '@gateway/model-service/jobs/fingerprint';
import { isStrict, wishesOf } from '@gateway/model-service/jobs/job-wishes';
import { reserveSlot, submitJob } from '@gateway/model-service/jobs/submit-job';
import type { Handler } from '@gateway/service-kit/request/handler';
import { readJsonBody } from '@gateway/service-kit/request/json-body';
import { contextOf, identityOf, type LogFields } from '@gateway/service-kit/request/request-context';
import { validate } from '@gateway/service-kit/request/validate';
import { modelFor } from '@gateway/upstream/model-for';
import type { Upstream } from '@gateway/upstream/upstream';
import { checkRules } from '../families/check-rules.ts';
import { rulesFor, streamingCandidates } from '../families/rules-for.ts';
import { estimateImages } from '../metering/image-order.ts';
import { answerImageJob } from './answer-image-job.ts';
import type { ImageService } from './image-service.ts';

const KIND = 'image.generation';

/** `POST /v1/images/generations`: checks the request, has a worker make the images, and answers with them. */
export const generationsHandler =
  (service: ImageService): Handler =>
  async (request, response) => {
    const context = contextOf(request);
    const identity = identityOf(request);
    const wishes = wishesOf(request);
    const { upstream, jsonMaxBytes: maxBytes, maxJsonDepth: maxDepth } = service;
    const { value } = await readJsonBody(request, { maxBytes, maxDepth });
    const { requested, model, rules } = checkGeneration(upstream, value, { identity, line: context.line });

    const { model: _name, response_format: format, stream, ...parameters } = requested;
    const strict = isStrict(request);
    const streams = stream === true;
    if (streams) streamingCandidates(upstream, model);
    // A stream carries bytes only.
    const responseFormat = streams ? 'b64_json' : (format ?? rules.defaultResponseFormat);
    await using slot = await reserveSlot(service, { kind: KIND, wishes, request });
    const submitted = await submitJob(service, {
      kind: KIND,
      endpoint: 'images',
      estimate: estimateImages(model, { ...requested, inputImages: 0 }),
      names: { endUser: requested.user ?? null },
      input: { model: model.name, parameters, responseFormat, strict, ...(streams && { stream }) },
      slot,
      wishes,
      fingerprint: () => fingerprintOfJson(KIND, [strict, value]),
      request,
      response,
    });
    await answerImageJob({
      service,
      kind: KIND,
      submitted,
      format: responseFormat,
      streams,
      request,
      response,
    });
  };

interface GenerationAsker {
  readonly identity: Pick<Identity, 'models'>;
  readonly line: LogFields;
}

/** @throws {GatewayError} for what the model's family, or the protocol, does not have */
export function checkGeneration(
  upstream: Pick<Upstream, 'resolveModel'>,
  value: unknown,
  { identity, line }: GenerationAsker,
) {
  const requested = validate(ImageGenerationRequest, value);
  const model = modelFor(upstream, { name: requested.model, protocols: ['images'], identity });
  const rules = rulesFor(model);
  Object.assign(line, { model: model.name, size: requested.size ?? undefined });
  checkRules(requested, rules);
  return { requested, model, rules };
}
