import { pngFile, wavFile } from '../support/media-files.ts';
import type { GatewayRequest } from '../support/start-gateway.ts';
import {
  anthropic,
  type ErrorRow,
  edits,
  everywhere,
  invalid,
  invalidMessage,
  openai,
  transcriptions,
} from './error-row.ts';

/** The bounds that the stack is started with. */
export const MAX_BODY_BYTES = 5000;
export const MAX_FILE_BYTES = 200_000;

const INVALID = 'invalid_request_error';
const text = new File(['this is a text'], 'recording.mp3', { type: 'audio/mpeg' });
/** A form whose one part, the model, is of this type. */
const rawForm = (type: string, content: string | Uint8Array): GatewayRequest => ({
  headers: { 'content-type': 'multipart/form-data; boundary=b' },
  body: Buffer.concat([
    Buffer.from(`--b\r\ncontent-disposition: form-data; name="model"\r\ncontent-type: ${type}\r\n\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n--b--\r\n'),
  ]),
});
const edit = { model: 'dall-e-2', prompt: 'x', image: pngFile() };

/** Bodies and files that are not what they should be. */
export const BODY_ROWS: Record<string, ErrorRow> = {
  'malformed JSON': {
    retry: false,
    cases: everywhere(
      { body: '{"model":', headers: { 'content-type': 'application/json' }, json: undefined },
      invalid(null, null, /^We could not parse the JSON body of your request\./),
      invalidMessage(/^The request body is not valid JSON: /),
    ),
  },
  'invalid UTF-8': {
    retry: false,
    cases: everywhere(
      {
        body: new Uint8Array([0x22, 0xff, 0x22]),
        headers: { 'content-type': 'application/json' },
        json: undefined,
      },
      invalid(null, null, /UTF-8/),
      invalidMessage(/UTF-8/),
    ),
  },
  'an empty body': {
    retry: false,
    cases: everywhere(
      { method: 'POST', headers: { 'content-type': 'application/json' }, json: undefined },
      invalid('missing_required_parameter', null, /body is empty/),
      invalidMessage(/body is empty/),
    ),
  },
  'another content type': {
    retry: false,
    cases: everywhere(
      { headers: { 'content-type': 'text/plain' } },
      invalid('unsupported_content_type', null, /'text\/plain'.*'application\/json'/),
      invalidMessage(/'text\/plain'/),
    ),
  },
  'JSON where a form is wanted': {
    retry: false,
    cases: [
      {
        path: '/v1/audio/transcriptions',
        request: { json: { model: 'x' } },
        error: invalid('unsupported_content_type', null, /multipart\/form-data/),
      },
    ],
  },
  'an image in JSON that cannot be fetched': {
    retry: false,
    cases: [
      { url: 'http://127.0.0.1:9/a.png', words: /not public/ },
      { url: 'http://169.254.169.254/latest/meta-data/', words: /not public/ },
      { url: 'file:///etc/passwd', words: /begins with file:/ },
    ].map(({ url, words }) => ({
      path: '/v1/images/edits',
      request: { json: { model: 'gpt-image-1', prompt: 'x', images: [{ image_url: url }] } },
      error: invalid('invalid_value', 'images[0].image_url', words),
    })),
  },
  'a compressed body': {
    retry: false,
    cases: everywhere(
      { headers: { 'content-encoding': 'gzip' } },
      openai(415, [INVALID, 'unsupported_content_encoding'], /'gzip'/),
      anthropic(400, INVALID, /'gzip'/, 'request_body_encoding_unsupported'),
    ),
  },
  'text of a form that cannot be read': {
    retry: false,
    cases: ['/v1/audio/transcriptions', '/v1/images/edits'].flatMap((path) => [
      {
        path,
        request: rawForm('text/plain; charset=utf-7', new Uint8Array([0x61, 0xff])),
        error: invalid('unsupported_content_type', null, /charset of a text part: 'utf-7'.*in UTF-8/),
      },
      {
        path,
        request: rawForm('text/plain', new Uint8Array([0x61, 0xff])),
        error: invalid(null, 'model', /'model' is not UTF-8/),
      },
    ]),
  },
  'a body that is too large': {
    retry: false,
    cases: everywhere(
      { unknown: 'x'.repeat(MAX_BODY_BYTES) },
      openai(413, [INVALID, 'request_too_large'], / 5000 bytes/),
      anthropic(413, 'request_too_large', / 5000 bytes/),
    ),
  },
  'a file that is too large': {
    retry: false,
    cases: [
      transcriptions(
        { model: 'whisper-1', file: wavFile(10) },
        openai(413, [INVALID, 'file_too_large', 'file'], /\(200000\)/),
      ),
    ],
  },
  'a file that is not what it should be': {
    retry: false,
    cases: [
      transcriptions({ model: 'whisper-1', file: text }, invalid('unsupported_format', 'file')),
      edits({ ...edit, image: text }, invalid('unsupported_file_mimetype', 'image')),
      edits({ ...edit, mask: text }, invalid('invalid_mask_image_format', 'mask')),
      edits({ ...edit, mask: pngFile() }, invalid('invalid_mask_image_format', 'mask', /alpha/)),
    ],
  },
  'an unknown file part': {
    retry: false,
    cases: [
      transcriptions({ model: 'whisper-1', second: wavFile(1) }, invalid('unknown_parameter', 'second')),
    ],
  },
};
