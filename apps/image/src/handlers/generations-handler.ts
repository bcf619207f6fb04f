import { ImageGenerationRequest } from '@gateway/contracts/openai/images';
import { isStrict } from '@gateway/model-service/is-strict';
import { reserveJob } from '@gateway/model-service/metered-request';
import { readJsonBody } from '@gateway/service-kit/json-body';
import { contextOf, identityOf } from '@gateway/service-kit/request-context';
import { validate } from '@gateway/service-kit/validate';
import { modelFor } from '@gateway/upstream/model-for';
import type { RequestHandler } from 'express';
import { checkRules } from '../families/check-rules.ts';
import { rulesFor } from '../families/rules-for.ts';
import { generationRequest } from '../making/generation-request.ts';
import { estimateImages } from '../metering/image-order.ts';
import { answerJob } from './answer-job.ts';
import { answerStream } from './answer-stream.ts';
import type { ImageService } from './image-service.ts';

/** `POST /v1/images/generations`: checks the request, has a worker make the images, and answers with them. */
export const generationsHandler =
  (service: ImageService): RequestHandler =>
  async (request, response) => {
    const context = contextOf(request);
    const identity = identityOf(request);
    const { upstream, queue, jsonMaxBytes: maxBytes, maxJsonDepth: maxDepth } = service;
    const { value } = await readJsonBody(request, { maxBytes, maxDepth });
    const asked = validate(ImageGenerationRequest, value);
    const model = modelFor(upstream, { name: asked.model, protocols: ['images'], identity });
    const rules = rulesFor(model);
    Object.assign(context.line, { model: model.name, size: asked.size ?? undefined });
    checkRules(asked, rules);

    const { model: _name, response_format: format, stream, ...rest } = asked;
    const strict = isStrict(request);
    const order = { ...asked, inputImages: 0 };
    const parameters = stream ? { ...rest, stream } : rest;
    if (stream) {
      const prepare = (candidate: Parameters<typeof generationRequest>[0]['candidate']) =>
        generationRequest({ model, candidate, parameters, strict });
      await answerStream({ service, model, order, prepare, request, response });
      return;
    }
    const responseFormat = format ?? rules.defaultResponseFormat;
    await queue.ensureRoom('image.generation');
    const estimate = estimateImages(model, order);
    const costly = { endpoint: 'images', model: model.name, estimate, request, response };
    const owner = await reserveJob(service, 'image.generation', costly);
    const input = { model: model.name, parameters, responseFormat, strict };
    const job = await queue.enqueue('image.generation', input, owner);
    await answerJob({ service, job, format: responseFormat, request, response });
  };
