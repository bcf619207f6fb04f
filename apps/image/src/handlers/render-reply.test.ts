import { randomBytes } from 'node:crypto';
import { openJobStores } from '@gateway/jobs/files/job-stores';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, test } from 'vitest';
import { renderReply } from './render-reply.ts';

const service = {
  publicUrl: 'https://gateway.example',
  secret: 's'.repeat(32),
  now: () => 1_800_000_000_000,
};

test('large images are encoded piece by piece into the same base64, whatever their length', async () => {
  const folder = await temporaryFolder();
  const { assets } = await openJobStores({ dataDir: folder.path });
  const contents = [
    randomBytes(200_000),
    randomBytes(200_001),
    randomBytes(200_002),
    Buffer.alloc(0),
    randomBytes(1),
  ];
  const images = await Promise.all(
    contents.map(async (bytes, index) => {
      const { id, sizeBytes } = await assets.put(`job_1-${index}.png`, bytes);
      return {
        assetId: id,
        sizeBytes,
        contentType: 'image/png',
        members: index === 0 ? { revised_prompt: 'a "b"' } : {},
      };
    }),
  );
  const output = {
    created: 3,
    images,
    members: { usage: { total_tokens: 1 } },
    dropped: [],
    channel: 'one',
    upstreamAttempts: 1,
  };
  const read = async (format: 'url' | 'b64_json') => {
    let text = '';
    for await (const piece of renderReply({ ...service, assets }, output, format)) text += piece;
    return JSON.parse(text);
  };
  expect(await read('b64_json')).toEqual({
    created: 3,
    data: contents.map((bytes, index) => ({
      b64_json: bytes.toString('base64'),
      ...(index === 0 && { revised_prompt: 'a "b"' }),
    })),
    usage: { total_tokens: 1 },
  });
  expect(await read('url')).toMatchObject({
    data: [
      {
        url: expect.stringMatching(/^https:\/\/gateway\.example\/v1\/images\/assets\/job_1-0\.png\?/),
        revised_prompt: 'a "b"',
      },
      {},
      {},
      {},
      {},
    ],
  });
  await folder.close();
});
