import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { createUpstream } from '@gateway/upstream/upstream';
import { afterAll, expect, test } from 'vitest';
import { configurationText } from '../testing/start-image.ts';
import { bytesThroughLibrary } from './bytes-in-flight.ts';

const text = configurationText('http://127.0.0.1:1');
const upstream = createUpstream({ configuration: parseConfiguration(text, 'gateway.yaml', {}) });
afterAll(() => upstream.close());

const MEBIBYTE = 1024 * 1024;
const rest = { responseFormat: 'b64_json', strict: false } as const;
const file = { uploadId: 'upload_0', fileName: 'cat.png', contentType: 'image/png', sizeBytes: 5 };

test('images that a library holds whole count each, others as the catalog estimates', () => {
  const bytesOf = (model: string, n?: number) =>
    bytesThroughLibrary(upstream, { model, parameters: { prompt: 'a cat', n }, ...rest });
  expect(bytesOf('dall-e-3', 1)).toBeUndefined();
  expect(bytesOf('flux-task')).toBe(36 * MEBIBYTE);
  expect(bytesOf('flux-task', 4)).toBe(144 * MEBIBYTE);
  const edit = {
    model: 'nano-banana',
    fields: [],
    images: [file, { fileId: 'file_1' }],
    mask: file,
    ...rest,
  };
  expect(bytesThroughLibrary(upstream, edit)).toBe(36 * MEBIBYTE + 10);
});
