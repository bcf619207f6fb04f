import { expect, test } from 'vitest';
import { countTests } from './count-tests.ts';

const file = (status: string, ...statuses: string[]) => ({
  status,
  assertionResults: statuses.map((each) => ({ status: each })),
});

test('failed tests are counted one by one', () => {
  const report = {
    numPassedTests: 3,
    testResults: [file('failed', 'passed', 'failed', 'failed'), file('passed', 'passed', 'passed')],
  };
  expect(countTests(report, 1)).toEqual({ passed: 3, failed: 2 });
});

test('a file that cannot be loaded counts as failed', () => {
  expect(countTests({ numPassedTests: 0, testResults: [file('failed')] }, 1)).toEqual({
    passed: 0,
    failed: 1,
  });
});

test('a skipped test counts as failed', () => {
  const report = { numPassedTests: 1, testResults: [file('passed', 'passed', 'skipped')] };
  expect(countTests(report, 0)).toEqual({ passed: 1, failed: 1 });
});

test('a run that fails for another reason is never all green', () => {
  expect(countTests({ numPassedTests: 2, testResults: [file('passed', 'passed', 'passed')] }, 1)).toEqual({
    passed: 2,
    failed: 1,
  });
  expect(countTests({}, 1)).toEqual({ passed: 0, failed: 1 });
});
