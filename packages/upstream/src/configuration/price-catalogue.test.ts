import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Price } from '@gateway/contracts/price';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const CATALOGUE = join(import.meta.dirname, '../../../../prices.yaml');

const Entry = z.strictObject({
  source: z.url({ protocol: /^https$/ }),
  read: z.iso.date(),
  price: Price.refine((price) => Object.keys(price).length > 0, 'a price without a number'),
});

test('every price of the catalogue can be copied into a configuration, and says where and when it was read', async () => {
  const entries = z.record(z.string(), z.unknown()).parse(parse(await readFile(CATALOGUE, 'utf8')));
  expect(Object.keys(entries).length).toBeGreaterThan(5);
  for (const [model, entry] of Object.entries(entries))
    expect({ model, mistakes: Entry.safeParse(entry).error?.issues }).toEqual({ model, mistakes: undefined });
});
