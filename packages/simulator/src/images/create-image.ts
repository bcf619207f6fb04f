import { readJson } from '../checks/read-json.ts';
import { asText } from '../json-value.ts';
import type { Handler } from '../requests/call.ts';
import { imageReply } from './image-reply.ts';
import { readImageOrder } from './read-image-order.ts';

/** `POST /v1/images/generations` */
export const createImage: Handler = (call) => {
  const body = readJson(call);
  call.applyDirectives(asText(body.prompt), asText(body.model));
  const order = readImageOrder(body, false);
  return imageReply({ call, order, kind: 'image_generation', inputImages: 0 });
};
