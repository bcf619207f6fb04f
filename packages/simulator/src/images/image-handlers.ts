import { missingParameter } from '../checks/check-openai.ts';
import { readForm, typedFields } from '../checks/read-form.ts';
import { readJson } from '../checks/read-json.ts';
import { asList, asObject, asText, type JsonObject } from '../json-value.ts';
import { invalidRequest, ProviderError } from '../replies/provider-error.ts';
import type { Handler } from '../requests/call.ts';
import { checkInputImages } from './check-input-images.ts';
import { imageReply } from './image-reply.ts';
import { readImageOrder } from './read-image-order.ts';

const IMAGE_FIELD = /^image(\[\d*\])?$/;
const FIELD_TYPES = {
  n: 'number',
  output_compression: 'number',
  partial_images: 'number',
  stream: 'boolean',
} as const;

const DATA_URL = /^data:[^,]*;base64,(.*)$/is;

/** The images of a JSON edit; anything but a data URL stays unread. */
const linkedImages = (body: JsonObject): Buffer[] =>
  asList(body.images).flatMap((image) => {
    const data = DATA_URL.exec(asText(asObject(image).image_url))?.[1];
    return data === undefined ? [] : [Buffer.from(data, 'base64')];
  });

/** `POST /v1/images/edits`: form, or JSON with data URLs. */
export const createImageEdit: Handler = async (call) => {
  if ((call.request.headers['content-type'] ?? '').startsWith('application/json')) {
    const body = readJson(call);
    call.applyDirectives(asText(body.prompt), asText(body.model));
    const order = readImageOrder(body, true);
    if (!order.isGptImage)
      throw invalidRequest("Unknown parameter: 'images'.", 'unknown_parameter', 'images');
    if (asList(body.images).length === 0) throw missingParameter('images');
    const images = linkedImages(body);
    checkInputImages(order.model, images, null);
    return imageReply({ call, order, kind: 'image_edit', inputImages: asList(body.images).length });
  }

  const form = await readForm(call);
  const fields = typedFields(form, FIELD_TYPES);
  call.applyDirectives(asText(fields.prompt), asText(fields.model));
  const images: File[] = [];
  for (const [name, value] of form) if (IMAGE_FIELD.test(name) && value instanceof File) images.push(value);
  if (images.length === 0) throw missingParameter('image');
  const order = readImageOrder(fields, true);
  const mask = form.get('mask');
  checkInputImages(
    order.model,
    await Promise.all(images.map(bytesOf)),
    mask instanceof File ? await bytesOf(mask) : null,
  );
  return imageReply({ call, order, kind: 'image_edit', inputImages: images.length });
};

const bytesOf = async (file: File): Promise<Buffer> => Buffer.from(await file.arrayBuffer());

/** `POST /v1/images/generations` */
export const createImage: Handler = (call) => {
  const body = readJson(call);
  call.applyDirectives(asText(body.prompt), asText(body.model));
  const order = readImageOrder(body, false);
  return imageReply({ call, order, kind: 'image_generation', inputImages: 0 });
};

/** `GET /files/{name}`: an image that a reply named by its URL. */
export const getFile: Handler = ({ provider, params: [name = ''] }) => {
  const file = provider.files.get(name);
  if (!file) throw new ProviderError({ status: 404, message: `No such file: ${name}` });
  return { status: 200, contentType: file.contentType, chunks: [file.bytes], isStream: false };
};
