import { useMantineColorScheme } from '@mantine/core';
import { Spotlight, spotlight } from '@mantine/spotlight';
import { IconHistory, IconLogout, IconMoon, IconPlus, IconSearch, IconSun } from '@tabler/icons-react';
import { useSuspenseQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import '@mantine/spotlight/styles.css';
import { allows } from '../api/permissions.ts';
import { sessionQuery } from '../api/queries.ts';
import { requestIdIn } from '../pages/requests/requests-query.ts';
import { pagesFor } from '../pages.ts';
import { useSignOut } from './person-menu.tsx';

/** Every page and every common act, by a few letters. It opens with each of its `calls`. */
export default function CommandPalette({ calls }: { calls: number }) {
  useEffect(() => {
    if (calls > 0) spotlight.open();
  }, [calls]);
  const [typed, setTyped] = useState('');
  const requestId = requestIdIn(typed);
  const { data: session } = useSuspenseQuery(sessionQuery);
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
      nothingFound="Nothing found. Try the name of a page, or paste a request ID."
      onQueryChange={setTyped}
      searchProps={{
        leftSection: <IconSearch size={18} aria-hidden />,
        placeholder: 'Search pages and actions, or paste a request ID',
        'aria-label': 'Search pages and actions',
      }}
      actions={[
        ...(requestId === undefined
          ? []
          : [
              {
                id: 'request',
                label: `Request ${requestId}`,
                description: 'What happened to it',
                // It is found by whatever text the id stands in.
                keywords: typed,
                onClick: go(`/requests?request=${encodeURIComponent(JSON.stringify(requestId))}`),
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
