import { readdir } from 'node:fs/promises';
import { startImage } from './start-image.ts';

// The image service with its worker, in a process whose temporary folder may be as small as its starter wants.
// Argument: the provider's URL. Prints its address, and on request what is in its stores.

const [provider = ''] = process.argv.slice(2);
const image = await startImage();
image.useProvider(provider);
await image.startWorker();

process.on('message', async () => {
  const [assets, uploads, inputs] = await Promise.all(
    ['assets', 'uploads', 'inputs'].map((store) => readdir(`${image.dataDir}/${store}`)),
  );
  process.send?.({
    assets,
    uploads,
    inputs,
    outcomes: image.jobs.map(({ outcome, usage }) => ({ outcome, usage })),
  });
});
process.send?.({ url: image.url, headers: image.headersFor() });
