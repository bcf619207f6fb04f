import AxeBuilder from '@axe-core/playwright';
import type { Page } from 'playwright-core';

/** A rule of axe that a page breaks. */
interface Violation {
  readonly id: string;
  /** The first elements that break it, as HTML. */
  readonly at: readonly string[];
}

/**
 * What axe finds on a page that is serious or critical.
 *
 * @param rules only these; absent: all
 */
export async function seriousViolations(page: Page, rules?: readonly string[]): Promise<Violation[]> {
  await transitionsEnded(page);
  const axe = new AxeBuilder({ page })
    // Nothing else of its report is read, and it would describe every element that is in order.
    .options({ resultTypes: ['violations'] })
    // No page has frames: without them there is nothing to put together on a second page.
    .setLegacyMode();
  const { violations } = await (rules === undefined ? axe : axe.withRules([...rules])).analyze();
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => ({ id, at: nodes.slice(0, 3).map(({ html }) => html) }));
}

/**
 * Resolves once every transition has ended: axe would judge colours that nobody sees for
 * longer than a moment. What moves without an end, like a skeleton, is not waited for.
 */
async function transitionsEnded(page: Page): Promise<void> {
  await page.evaluate(`Promise.allSettled(
    document.getAnimations()
      .filter(({ effect }) => Number.isFinite(effect.getComputedTiming().endTime))
      .map(({ finished }) => finished)
  ).then(() => undefined)`);
}

/** Shows the page in these colours, as on a machine that is set to them. */
export async function showIn(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor();
}
