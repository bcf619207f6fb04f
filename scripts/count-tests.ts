export interface Counts {
  readonly passed: number;
  readonly failed: number;
}

/** The part of vitest's JSON report that is used here. */
interface Report {
  readonly numPassedTests?: number;
  readonly testResults?: readonly {
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

/**
 * Tests that passed and tests that did not. A file that fails without a failed test (it cannot be loaded, a hook threw) counts
 * as one, and so does a run that fails for any other reason; a skipped test has not passed, so it counts as failed.
 */
export function countTests(report: Report, exitCode: number): Counts {
  const files = report.testResults ?? [];
  const failed = files.reduce((sum, { status, assertionResults }) => {
    const notPassed = assertionResults.filter((result) => result.status !== 'passed').length;
    return sum + Math.max(notPassed, status === 'failed' ? 1 : 0);
  }, 0);
  return { passed: report.numPassedTests ?? 0, failed: failed === 0 && exitCode !== 0 ? 1 : failed };
}
