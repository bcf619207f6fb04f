import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { ImageEditJsonRequest, ImageEditRequest } from '@gateway/contracts/openai/images';
import { type FormField, readForm } from '@gateway/forms/read-form';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import {
  fingerprintOfBody,
  fingerprintOfForm,
  fingerprintOfJson,
} from '@gateway/model-service/jobs/fingerprint';
import { discardRest } from '@gateway/service-kit/request/discard-rest';
import { readJsonBody, refuseEncoding } from '@gateway/service-kit/request/json-body';
import { contextOf } from '@gateway/service-kit/request/request-context';
import { validate } from '@gateway/service-kit/request/validate';
import type { NamedFetching } from '@gateway/upstream/fetching/fetch-named';
import { EDIT_FORM, formFields, formValues } from './edit-form.ts';
import type { EditFile } from './inspect-files.ts';
import { storeReferences } from './store-references.ts';

/** An edit as it came, as a form or as JSON. Its files belong to the reader until a job has them. */
export interface ReceivedEdit {
  /** With the names of a form's files in their places, as JSON has its references. */
  readonly requested: ImageEditRequest;
  /** Text parts; members of JSON as the texts that they would be in a form. */
  readonly fields: readonly FormField[];
  /** The images, the mask and the markup, in the uploads area. What JSON names by URL is fetched by this call, after everything else has been checked. */
  files(): Promise<readonly EditFile[]>;
  /** The same for the same request to this endpoint: a form's files count by their bytes, JSON's by what names them. */
  fingerprint(endpoint: string): string | Promise<string>;
  /** Deletes what has been stored. */
  discard(): Promise<void>;
}

export interface ReadEditOptions {
  readonly uploads: UploadStore;
  readonly editJsonMaxBytes: number;
  readonly maxJsonDepth: number;
  readonly fetching: NamedFetching;
}

/**
 * Reads an edit, sent as a form or as JSON.
 *
 * @throws {GatewayError} for a body that cannot be read, is too large, or breaks the protocol
 */
export function readEdit(
  request: IncomingMessage,
  response: ServerResponse,
  options: ReadEditOptions,
): Promise<ReceivedEdit> {
  const [type] = (request.headers['content-type'] ?? '').split(';');
  return type?.trim().toLowerCase() === 'application/json'
    ? readJsonEdit(request, options)
    : readFormEdit(request, response, options);
}

async function readFormEdit(
  request: IncomingMessage,
  response: ServerResponse,
  { uploads }: ReadEditOptions,
): Promise<ReceivedEdit> {
  refuseEncoding(request);
  const form = await readForm(request, response, { rules: EDIT_FORM, uploads, discardRest });
  const discard = () => uploads.delete(...form.files.map(({ uploadId }) => uploadId));
  // An optional part may be an empty text, which is as good as none.
  const fields = form.fields.filter(([, value]) => value !== '');
  try {
    const given = Object.fromEntries(form.files.map(({ part, fileName }) => [part, fileName]));
    const requested = { ...validate(ImageEditRequest, formValues(fields)), ...given };
    const files = form.files.map(({ part, ...source }): EditFile => {
      const name = part === 'mask' || part === 'markup' ? part : 'image';
      return { part: name, path: [name], source };
    });
    const fingerprint = (endpoint: string) => fingerprintOfForm(endpoint, form, uploads);
    return { requested, fields, files: async () => files, fingerprint, discard };
  } catch (error) {
    await discard();
    throw error;
  }
}

/** The parts of a form that hold files. In JSON they are `images`, `mask` and `markup`. */
const FORM_IMAGE = /^image(?:\[\d*\])?$/;
const REFERENCES: ReadonlySet<string> = new Set(['images', 'mask', 'markup']);

async function readJsonEdit(
  request: IncomingMessage,
  { uploads, fetching, editJsonMaxBytes: maxBytes, maxJsonDepth: maxDepth }: ReadEditOptions,
): Promise<ReceivedEdit> {
  const body = await readJsonBody(request, { maxBytes, maxDepth });
  return {
    ...jsonEdit(body.value, { uploads, fetching, signal: contextOf(request).signal }),
    fingerprint: (endpoint) => fingerprintOfBody(endpoint, body),
  };
}

interface JsonEditOptions extends Pick<ReadEditOptions, 'uploads' | 'fetching'> {
  readonly signal: AbortSignal;
}

/** An edit of JSON that has been read. */
export function jsonEdit(value: unknown, { uploads, fetching, signal }: JsonEditOptions): ReceivedEdit {
  const requested = validate(ImageEditJsonRequest, value);
  const misnamed = Object.keys(requested).find((name) => FORM_IMAGE.test(name));
  if (misnamed !== undefined)
    throw new GatewayError('unknown_parameter', {
      path: [misnamed],
      message: `Unknown parameter: '${misnamed}'. In JSON, images are named in 'images'.`,
    });
  const stored: string[] = [];
  return {
    requested,
    fields: Object.entries(requested).flatMap(([name, member]) =>
      REFERENCES.has(name) ? [] : formFields(name, member),
    ),
    files: () => storeReferences(requested, { uploads, fetching, signal, stored }),
    fingerprint: (endpoint) => fingerprintOfJson(endpoint, value),
    discard: () => uploads.delete(...stored),
  };
}
