import { addressPrefixes } from '../settings/web-addresses';
import { isUnder } from './return-addresses';

const prefixes = addressPrefixes.parse('https://shop.example/checkout, http://localhost:5173');

it.each([
  'https://shop.example/checkout',
  'https://shop.example/checkout/thanks?x=1#top',
  'https://SHOP.example:443/checkout/',
  'http://localhost:5173/',
  'http://localhost:5173/any/page',
])('lets a buyer go back to %s', (address) => expect(isUnder(prefixes, address)).toBe(true));

it.each([
  'https://shop.example/',
  'https://shop.example/checkouts',
  'https://shop.example/checkout/../account',
  'https://shop.example/checkout/%2e%2e/account',
  'http://shop.example/checkout',
  'https://shop.example:8443/checkout',
  'https://shop.example.evil.example/checkout',
  'https://shop.example@evil.example/checkout',
  'https://user:word@shop.example/checkout',
  '//shop.example/checkout',
  'javascript://shop.example/checkout',
  'checkout',
])('sends no buyer to %s', (address) => expect(isUnder(prefixes, address)).toBe(false));
