import { expect, test } from 'vitest';
import { toNetworkStorageError, toStorageError } from './storage-error.ts';

test.for([
  ['code', 'ENOSPC'],
  ['code', 'EDQUOT'],
  ['name', 'QuotaExceeded'],
  ['name', 'XMinioStorageFull'],
])('a full store is reported as such: %s %s', ([member = '', value]) => {
  const full = Object.assign(new Error('no space left'), { [member]: value });
  expect(toStorageError(full)).toMatchObject({ code: 'storage_full' });
  expect(toNetworkStorageError(full)).toMatchObject({ code: 'storage_full' });
});

test.for(['EROFS', 'EACCES', 'EIO', 'EMFILE'])('a folder that takes no writes is unavailable: %s', (code) => {
  const refused = Object.assign(new Error('no'), { code });
  expect(toStorageError(refused)).toMatchObject({ code: 'service_unavailable', retry: true });
});

test('an overloaded store may be tried again, and our own mistakes stay what they are', () => {
  const answered = (httpStatusCode: number) =>
    Object.assign(new Error('no'), { $metadata: { httpStatusCode } });
  for (const error of [new Error('connect ECONNREFUSED'), answered(500), answered(503), answered(429)])
    expect(toNetworkStorageError(error)).toMatchObject({ code: 'service_unavailable' });
  for (const error of [answered(400), answered(403), 'text'])
    expect(toNetworkStorageError(error)).toBe(error);
  const other = new Error('x');
  expect(toStorageError(other)).toBe(other);
});
