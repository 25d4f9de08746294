package settings

import (
	"reflect"
	"testing"
	"time"
)

// A new field of the settings is shown by 'settings show', or this fails.
func TestEveryFieldIsAValue(t *testing.T) {
	eachLeaf(t, reflect.TypeFor[Settings](), func(name string, set func(reflect.Value)) {
		var s Settings
		set(reflect.ValueOf(&s).Elem())
		if len(s.values()) == 0 {
			t.Errorf("Settings.%s is no value: add it to values", name)
		}
	})
	eachLeaf(t, reflect.TypeFor[Own](), func(name string, set func(reflect.Value)) {
		var o Own
		set(reflect.ValueOf(&o).Elem())
		if len(o.values()) == 0 {
			t.Errorf("Own.%s is no value: add it to values", name)
		}
	})
	// What entries of lists say, of which each part can decide something.
	for name, differ := range map[string]func(set func(reflect.Value)) bool{
		"Mount": func(set func(reflect.Value)) bool {
			var m Mount
			set(reflect.ValueOf(&m).Elem())
			return m.inWords() != Mount{}.inWords()
		},
		"Secret": func(set func(reflect.Value)) bool {
			var s Secret
			set(reflect.ValueOf(&s).Elem())
			return s.inWords() != Secret{}.inWords()
		},
		"MCPServer": func(set func(reflect.Value)) bool {
			var s MCPServer
			set(reflect.ValueOf(&s).Elem())
			return s.inWords() != MCPServer{}.inWords()
		},
	} {
		of := map[string]reflect.Type{"Mount": reflect.TypeFor[Mount](), "Secret": reflect.TypeFor[Secret](),
			"MCPServer": reflect.TypeFor[MCPServer]()}
		eachLeaf(t, of[name], func(field string, set func(reflect.Value)) {
			if name == "MCPServer" && field == "Type" { // follows from Command or URL
				return
			}
			if !differ(set) {
				t.Errorf("%s.%s is not shown: add it to inWords", name, field)
			}
		})
	}
}

// eachLeaf calls check for each field below a struct that is none itself, with a function
// that gives that field of a value something to say.
func eachLeaf(t *testing.T, of reflect.Type, check func(name string, set func(reflect.Value))) {
	t.Helper()
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Type.Kind() == reflect.Struct {
			eachLeaf(t, f.Type, func(name string, set func(reflect.Value)) {
				check(f.Name+"."+name, func(v reflect.Value) { set(v.Field(i)) })
			})
			continue
		}
		check(f.Name, func(v reflect.Value) { fill(t, v.Field(i)) })
	}
}

// fill sets a value to one that is not zero, in all of its parts.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString("file")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(time.Hour))
	case reflect.Float64:
		v.SetFloat(2)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(t, value)
		v.SetMapIndex(reflect.ValueOf("NAME"), value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	default:
		t.Fatalf("a field of the kind %s: teach this test", v.Kind())
	}
}
