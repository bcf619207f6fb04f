import { expect, test } from 'vitest';
import { processModeOf } from './process-table.ts';

test('npm start runs as few processes as it can unless it is set to run one for each service', () => {
  expect(processModeOf({})).toBe('one');
  expect(processModeOf({ GATEWAY_PROCESSES: '' })).toBe('one');
  expect(processModeOf({ GATEWAY_PROCESSES: 'each' })).toBe('each');
});

test('another value is refused with the two valid ones', () => {
  expect(() => processModeOf({ GATEWAY_PROCESSES: 'two' })).toThrow(
    /GATEWAY_PROCESSES must be 'one' .* or 'each'/,
  );
});
