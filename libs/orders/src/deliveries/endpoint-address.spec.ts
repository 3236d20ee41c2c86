import { complaintAboutUrl, isPublicAddress, publicLookup } from './endpoint-address';

it.each([
  ...[
    '127.0.0.1',
    '10.0.0.1',
    '172.16.9.9',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
  ],
  ...['224.0.0.1', '255.255.255.255', '192.0.2.1', '198.18.0.1', '240.0.0.1'],
  ...['::', '::1', '::ffff:127.0.0.1', '::ffff:a00:1', 'fe80::1', 'fc00::1', 'fd12::1', 'ff02::1'],
  ...['64:ff9b::7f00:1', '64:ff9b:1::a00:1', '2002:7f00:1::', '2001:db8::1', '2001::1', '::7f00:1'],
  'no address',
])('%s is no address of the internet at large', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

it.each(['93.184.215.14', '8.8.8.8', '2606:4700:4700::1111', '::ffff:8.8.8.8'])(
  '%s is one',
  (address) => {
    expect(isPublicAddress(address)).toBe(true);
  },
);

it.each([
  ['http://shop.example/', /https/],
  ['ftp://shop.example/', /https/],
  ['https://user:word@shop.example/', /user/],
  ['https://shop.example/#a', /fragment/],
  ['shop.example', /must be an address/],
  ['https://127.0.0.1/', /private network/],
  // What browsers and curl take for addresses as well.
  ['https://2130706433/', /private network/],
  ['https://0x7f.1/', /private network/],
  ['https://[::1]/', /private network/],
  ['https://[::ffff:169.254.169.254]/', /private network/],
  [`https://shop.example/${'a'.repeat(2_000)}`, /2000 characters/],
])('refuses %s', (url, why) => {
  expect(complaintAboutUrl(url, false)).toMatch(why);
});

it('takes addresses of private networks where it is told to', () => {
  expect(complaintAboutUrl('https://shop.example:8443/hooks?key=1', false)).toBeUndefined();
  expect(complaintAboutUrl('http://127.0.0.1:3000/', true)).toBeUndefined();
  expect(complaintAboutUrl('gopher://127.0.0.1/', true)).toMatch(/https/);
});

it('resolves no name to an address of this machine', async () => {
  for (const all of [true, false]) {
    const failed = await new Promise((resolve) => publicLookup('localhost', { all }, resolve));
    expect(failed).toMatchObject({ name: 'PrivateAddressError' });
  }
});
