import { Avatar, Menu, SegmentedControl, Text, UnstyledButton, useMantineColorScheme } from '@mantine/core';
import { IconLock, IconLogout, IconUser } from '@tabler/icons-react';
import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { api } from '../api/client.ts';
import { sessionQuery } from '../api/queries.ts';
import { exactTime } from '../parts/moment.tsx';
import { ZoneChoice } from './zone-choice.tsx';

const SCHEMES = [
  { value: 'auto', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
] as const;

const OwnPassword = lazy(() => import('./own-password.tsx'));

/** Who is signed in, the colours, the time zone, and the way out. */
export function PersonMenu() {
  const { data: session } = useSuspenseQuery(sessionQuery);
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const signOut = useSignOut();
  const [isChanging, setIsChanging] = useState(false);
  return (
    <>
      <Menu width={260} position="bottom-end" withinPortal>
        <Menu.Target>
          <UnstyledButton aria-label={`${session.name}: colours, time zone and sign out`}>
            <Avatar size={32} radius="xl" color="indigo" variant="filled" alt="">
              <IconUser size={18} aria-hidden />
            </Avatar>
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>
            <Text size="sm" fw={600} c="var(--mantine-color-text)" truncate>
              {session.name}
            </Text>
            Role: {session.role}. Signed in until {exactTime(session.expiresAt)}
          </Menu.Label>
          <Menu.Divider />
          <Menu.Label>Colours</Menu.Label>
          <SegmentedControl
            fullWidth
            size="xs"
            mx="xs"
            mb="xs"
            aria-label="Colours"
            data={[...SCHEMES]}
            value={colorScheme}
            onChange={(value) => setColorScheme(SCHEMES.find((one) => one.value === value)?.value ?? 'auto')}
          />
          <Menu.Divider />
          <Menu.Label>Times and days in</Menu.Label>
          <ZoneChoice />
          <Menu.Divider />
          {session.personId !== null && (
            <Menu.Item leftSection={<IconLock size={16} aria-hidden />} onClick={() => setIsChanging(true)}>
              Password and sessions
            </Menu.Item>
          )}
          <Menu.Item leftSection={<IconLogout size={16} aria-hidden />} onClick={signOut}>
            Sign out
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {isChanging && (
        <Suspense>
          <OwnPassword onClose={() => setIsChanging(false)} />
        </Suspense>
      )}
    </>
  );
}

/** Ends the session and forgets all that was shown. */
export function useSignOut(): () => void {
  const router = useRouter();
  const queries = useQueryClient();
  const { mutate } = useMutation({
    mutationFn: () => api.DELETE('/admin/v1/session'),
    onSettled: async () => {
      await router.navigate({ to: '/sign-in' });
      queries.clear();
    },
  });
  return () => mutate();
}
