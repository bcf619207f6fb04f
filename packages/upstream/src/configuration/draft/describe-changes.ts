import { parseDocument, stringify } from 'yaml';
import { maskedValue } from '../masked-configuration.ts';
import { CHANGED_SECTIONS } from './changed-sections.ts';

type Section = (typeof CHANGED_SECTIONS)[number];

/** One difference between two configurations, in words. */
export interface ConfigurationChange {
  readonly section: Section;
  /** The channel or the model; null for other sections. */
  readonly name: string | null;
  readonly kind: 'added' | 'removed' | 'changed';
  /** A sentence without its full stop: `Route of gpt-5 at azure: weight 1 → 50`. */
  readonly text: string;
}

type Members = Readonly<Record<string, unknown>>;

/** What differs between two texts; nothing where one is not YAML. No secret of either is in it. */
export function describeChanges(before: string, after: string): readonly ConfigurationChange[] {
  const [from, to] = [literalOf(before), literalOf(after)];
  if (from === null || to === null) return [];
  return CHANGED_SECTIONS.flatMap((section) => {
    const [old, next] = [membersOf(from[section]), membersOf(to[section])];
    if (section !== 'channels' && section !== 'models') {
      const kind = from[section] === undefined ? 'added' : to[section] === undefined ? 'removed' : 'changed';
      return memberChanges(titled(section), old, next).map((text) => ({ section, name: null, kind, text }));
    }
    return namesOf(old, next).flatMap((name): ConfigurationChange[] => {
      if (isSame(old[name], next[name])) return [];
      const subject = `${section === 'models' ? 'Model' : 'Channel'} ${name}`;
      if (!(name in old)) {
        const text = `${subject} added${aboutOf(section, membersOf(next[name]))}`;
        return [{ section, name, kind: 'added', text }];
      }
      if (!(name in next)) return [{ section, name, kind: 'removed', text: `${subject} removed` }];
      const texts = entryChanges(section, name, subject, membersOf(old[name]), membersOf(next[name]));
      return texts.map((text) => ({ section, name, kind: 'changed', text }));
    });
  });
}

/** The channels and models of a text by their names, without their secrets; null where it is not YAML. */
export function shownEntries(text: string): { channels: Members; models: Members } | null {
  const literal = literalOf(text);
  if (literal === null) return null;
  const { channels, models } = membersOf(maskedValue(literal));
  return { channels: membersOf(channels), models: membersOf(models) };
}

function literalOf(text: string): Members | null {
  const document = parseDocument(text, { merge: true, uniqueKeys: false, logLevel: 'error' });
  if (document.errors.length > 0) return null;
  try {
    return membersOf(document.toJS());
  } catch (error) {
    // An alias without its anchor.
    if (error instanceof ReferenceError) return null;
    throw error;
  }
}

const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

const namesOf = (old: Members, next: Members): string[] => [
  ...new Set([...Object.keys(old), ...Object.keys(next)]),
];

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

const titled = (section: string): string =>
  `${section.charAt(0).toUpperCase()}${section.slice(1).replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`;

function aboutOf(section: Section, entry: Members): string {
  if (section === 'channels') return typeof entry.provider === 'string' ? ` (${entry.provider})` : '';
  const channels = routesOf(entry).map(({ channel }) => String(channel));
  return channels.length === 0 ? '' : ` (${String(entry.kind)}, at ${channels.join(', ')})`;
}

function entryChanges(
  section: Section,
  name: string,
  subject: string,
  { routes: oldRoutes, ...old }: Members,
  { routes: nextRoutes, ...next }: Members,
): string[] {
  if (section === 'channels') return memberChanges(subject, old, next);
  return [
    ...memberChanges(subject, old, next),
    ...routeChanges(name, routesOf({ routes: oldRoutes }), routesOf({ routes: nextRoutes })),
  ];
}

const routesOf = ({ routes }: Members): readonly Members[] =>
  Array.isArray(routes) ? routes.map(membersOf) : [];

/** Routes are the same where channel and model are; of several alike the first belongs to the first. */
function routeChanges(model: string, old: readonly Members[], next: readonly Members[]): string[] {
  const [olds, nexts] = [numbered(old), numbered(next)];
  const title = (route: Members): string => {
    const alike = [...old, ...next].filter(
      ({ channel, model: own }) => channel === route.channel && own !== route.model,
    );
    const own = alike.length > 0 && route.model !== undefined ? ` as ${String(route.model)}` : '';
    return `Route of ${model} at ${String(route.channel)}${own}`;
  };
  const texts: string[] = [];
  for (const [id, route] of olds) if (!nexts.has(id)) texts.push(`${title(route)} removed`);
  for (const [id, route] of nexts) {
    const was = olds.get(id);
    if (was === undefined) {
      const { channel: _channel, ...settings } = route;
      texts.push(`${title(route)} added${Object.keys(settings).length === 0 ? '' : ` ${shown(settings)}`}`);
    } else texts.push(...memberChanges(title(route), was, route));
  }
  const kept = (all: ReadonlyMap<string, Members>, other: ReadonlyMap<string, Members>) =>
    [...all.keys()].filter((id) => other.has(id)).join();
  if (kept(olds, nexts) !== kept(nexts, olds)) texts.push(`Routes of ${model}: in another order`);
  return texts;
}

function numbered(routes: readonly Members[]): ReadonlyMap<string, Members> {
  const seen = new Map<string, number>();
  return new Map(
    routes.map((route) => {
      const id = JSON.stringify([route.channel, route.model]);
      const count = seen.get(id) ?? 0;
      seen.set(id, count + 1);
      return [`${id}${count}`, route];
    }),
  );
}

/** Each member that differs; mappings by their own members. */
function memberChanges(subject: string, old: Members, next: Members): string[] {
  const [oldShown, nextShown] = [membersOf(maskedValue(old)), membersOf(maskedValue(next))];
  return differing('', old, next, oldShown, nextShown).map((text) => `${subject}: ${text}`);
}

function differing(
  path: string,
  old: Members,
  next: Members,
  oldShown: Members,
  nextShown: Members,
): string[] {
  return namesOf(old, next).flatMap((name) => {
    if (isSame(old[name], next[name])) return [];
    const at = `${path}${name}`;
    if (isMapping(old[name]) && isMapping(next[name]))
      return differing(
        `${at}.`,
        membersOf(old[name]),
        membersOf(next[name]),
        membersOf(oldShown[name]),
        membersOf(nextShown[name]),
      );
    if (!(name in next)) return [`${at} ${shown(oldShown[name])} removed`];
    if (!(name in old)) return [`${at} set to ${shown(nextShown[name])}`];
    const [was, is] = [shown(oldShown[name]), shown(nextShown[name])];
    return [was === is ? `${at} changed` : `${at} ${was} → ${is}`];
  });
}

const isMapping = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const MAX_SHOWN = 200;

function shown(value: unknown): string {
  const text =
    typeof value === 'string' ? value : stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim();
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
