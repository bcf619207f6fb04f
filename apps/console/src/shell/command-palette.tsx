import { useMantineColorScheme } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Spotlight, spotlight } from '@mantine/spotlight';
import {
  IconActivity,
  IconBook,
  IconBox,
  IconHistory,
  IconKey,
  IconLogout,
  IconMoon,
  IconPlus,
  IconSearch,
  IconSun,
  IconUser,
  IconUsersGroup,
} from '@tabler/icons-react';
import { keepPreviousData, queryOptions, useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { type ComponentType, useEffect, useState } from 'react';
import '@mantine/spotlight/styles.css';
import { BASE_PATH } from '../api/base-path.ts';
import { api, bodyOf } from '../api/client.ts';
import { allows } from '../api/permissions.ts';
import { sessionQuery } from '../api/queries.ts';
import type { Found } from '../api/types.ts';
import { requestIdIn } from '../pages/requests/requests-query.ts';
import { lifeHref } from '../pages/traffic/value-link.tsx';
import { pagesFor } from '../pages.ts';
import { hrefOf } from '../parts/page/page-link.tsx';
import { useSignOut } from './person-menu.tsx';

const SEARCH_DELAY_MS = 200;
const MIN_SEARCHED = 2;

const foundQuery = (text: string) =>
  queryOptions({
    queryKey: ['search', text],
    queryFn: async () => (await bodyOf(api.GET('/admin/v1/search', { params: { query: { q: text } } }))).data,
    placeholderData: keepPreviousData,
  });

interface ShownKind {
  readonly kind: Found['kind'];
  readonly group: string;
  readonly icon: ComponentType<{ size?: number; stroke?: number; 'aria-hidden'?: boolean }>;
  readonly href: (id: string) => string;
}

/** What has a name: its page, or of a person the keys. */
const KINDS: readonly ShownKind[] = [
  { kind: 'key', group: 'Keys', icon: IconKey, href: (id) => lifeHref('keyId', id) },
  { kind: 'team', group: 'Teams', icon: IconUsersGroup, href: (name) => lifeHref('team', name) },
  { kind: 'model', group: 'Models', icon: IconBox, href: (name) => lifeHref('model', name) },
  { kind: 'channel', group: 'Channels', icon: IconActivity, href: (name) => lifeHref('channel', name) },
  { kind: 'person', group: 'People', icon: IconUser, href: (name) => hrefOf('/keys', { search: name }) },
];

/** Every page and every common act, by a few letters. It opens with each of its `calls`. */
export default function CommandPalette({ calls }: { calls: number }) {
  useEffect(() => {
    if (calls > 0) spotlight.open();
  }, [calls]);
  const [typed, setTyped] = useState('');
  const requestId = requestIdIn(typed);
  const [text] = useDebouncedValue(typed.trim(), SEARCH_DELAY_MS);
  const { data: session } = useSuspenseQuery(sessionQuery);
  const found = useQuery({
    ...foundQuery(text),
    enabled: text.length >= MIN_SEARCHED && allows(session, 'GET /admin/v1/search'),
  });
  const isCurrent = text === typed.trim() && !found.isPlaceholderData;
  const router = useRouter();
  const { setColorScheme } = useMantineColorScheme();
  const signOut = useSignOut();
  const icon = { size: 18, stroke: 1.6, 'aria-hidden': true } as const;
  const go = (href: string) => () => void router.navigate({ href });

  return (
    <Spotlight
      shortcut={null}
      highlightQuery
      scrollable
      maxHeight={420}
      nothingFound={
        found.isFetching
          ? 'Searching …'
          : 'Nothing found. Try the name of a page, a key, a team or a model, or paste a request ID.'
      }
      onQueryChange={setTyped}
      searchProps={{
        leftSection: <IconSearch size={18} aria-hidden />,
        placeholder: 'Search pages, keys, teams, models, people, or paste a request ID',
        'aria-label': 'Search pages, keys, teams, models and people',
      }}
      actions={[
        ...(requestId === undefined
          ? []
          : [
              {
                id: 'request',
                label: `Request ${requestId}`,
                description: 'What happened to it',
                // It is found by the whole text that contains the id.
                keywords: typed,
                onClick: go(hrefOf('/requests', { request: requestId })),
                leftSection: <IconHistory {...icon} />,
              },
            ]),
        {
          group: 'Pages',
          actions: pagesFor(session).map(({ path, label, about, icon: Icon }) => ({
            id: path,
            label,
            description: about,
            onClick: go(path),
            leftSection: <Icon {...icon} />,
          })),
        },
        ...KINDS.map(({ kind, group, icon: Icon, href }) => ({
          group,
          actions: (text === '' ? [] : (found.data ?? []))
            .filter((one) => one.kind === kind)
            .map(({ id, name, about }) => ({
              id: `${kind} ${id}`,
              label: name,
              description: about ?? '',
              // The server has found it by another part of it. What an earlier text found is offered only where its name still fits.
              ...(isCurrent && { keywords: typed }),
              onClick: go(href(id)),
              leftSection: <Icon {...icon} />,
            })),
        })),
        {
          group: 'Actions',
          actions: [
            ...(allows(session, 'POST /admin/v1/keys')
              ? [
                  {
                    id: 'new-key',
                    label: 'New key',
                    description: 'Give a program or a person access',
                    onClick: go('/keys?new=true'),
                    leftSection: <IconPlus {...icon} />,
                  },
                ]
              : []),
            {
              id: 'documentation',
              label: 'Documentation',
              description: 'How to set up, call and run the gateway',
              onClick: () => void window.open(`${BASE_PATH}/docs/`, '_blank', 'noreferrer'),
              leftSection: <IconBook {...icon} />,
            },
            {
              id: 'light',
              label: 'Light',
              description: 'Dark text on white',
              onClick: () => setColorScheme('light'),
              leftSection: <IconSun {...icon} />,
            },
            {
              id: 'dark',
              label: 'Dark',
              description: 'Light text on black',
              onClick: () => setColorScheme('dark'),
              leftSection: <IconMoon {...icon} />,
            },
            {
              id: 'sign-out',
              label: 'Sign out',
              description: 'End this session',
              onClick: () => signOut(),
              leftSection: <IconLogout {...icon} />,
            },
          ],
        },
      ]}
    />
  );
}
